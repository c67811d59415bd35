import { defaultPace } from '@gateway/contracts/devices/pace';
import { type HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import type { OpenSessionOptions } from '@gateway/messenger/session/open-session';
import type { Deferred } from '@gateway/runtime/deferred';
import type { Logger } from '@gateway/runtime/logs/logger';
import { containerOf } from '@gateway/runtime/process/contain';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { DeviceOwner } from '@gateway/sender/device/device-owner';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState, reportObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { logInOnScript, type ScriptedSession, type SessionScript } from '@gateway/testkit/scripted-session';
import { silentLogger } from '@gateway/testkit/silent-logger';
import PQueue from 'p-queue';

export const ADDRESS = { workspace: 'main', device: 'a' };
export const ACCOUNT = { jid: '491700000031@s.whatsapp.net', phone: '491700000031', name: 'Shop' };

/** A linked device on a real Redis, its owner, and a network that a script plays: made again for each test. */
export function useOwner() {
  const stage = { start, nowMs, observed, isObserved, isOpen, isStill, isSent, send } as Actions & Moment & Stage;

  beforeEach(async () => {
    Object.assign(stage, await openStage(stage));
    start();
  });
  afterEach(async () => {
    // Otherwise what failed before it answered would never end.
    stage.network?.resolve();
    await stage.owner.handOver();
    stage.keeper.stop();
    await stage.space.close();
  });
  return stage;

  /** The next owner begins, under the ownership of the stage. */
  function start(): void {
    const { store, keeper, clock, logger } = stage;
    stage.registry = createMetrics();
    stage.owner = new DeviceOwner(
      {
        ...{ store, keeper, clock, logger },
        metrics: createSenderMetrics(stage.registry, () => ({})),
        endpoint: { url: 'ws://127.0.0.1:1', trust: { kind: 'insecure' } },
        openSession: async (options) => {
          stage.uncaught = containerOf()!;
          await stage.network?.promise;
          const session = await stage.logIn(options);
          stage.sessions.push(session);
          return session;
        },
        clientVersion: new ClientVersion({ store, logger, clock }),
        lookMs: stage.lookMs,
        ...{ defaultPace: defaultPace(0), ackTimeoutMs: 5_000, uploads: new PQueue(), openings: stage.openings },
        memory: new MemoryBudget(),
      },
      stage.ownership,
    );
  }

  function nowMs(): number {
    return stage.startMs + stage.passedMs;
  }

  async function observed() {
    return (await readDeviceState(stage.space.store, ADDRESS)).observed;
  }

  function isObserved(fields: object) {
    const isSeen = async () => {
      const seen = (await observed()) as Record<string, unknown> | undefined;
      return Object.entries(fields).every(([name, value]) => seen?.[name] === value);
    };
    return eventually(isSeen, { everyMs: 5 });
  }

  function isOpen(logins = 1) {
    return eventually(() => stage.owner.state === 'open' && stage.sessions.length === logins, { everyMs: 5 });
  }

  /** There would be five looks in that time. */
  async function isStill(): Promise<void> {
    let before = -1;
    const isSame = () => {
      const wasSame = stage.looks === before;
      before = stage.looks;
      return wasSame;
    };
    await eventually(isSame, { everyMs: 100 });
  }

  function isSent(messageId: string, count: number) {
    const isCounted = async () => (await readSend(stage.space.store, ADDRESS, messageId))?.counts.sent === count;
    return eventually(isCounted, { everyMs: 5 });
  }

  async function send(...to: string[]): Promise<string> {
    const { messageId } = await acceptSend(stage.space.store, ADDRESS, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: to },
      ...{ owner: 't', requestId: 'r', nowMs: nowMs(), expiresAtMs: nowMs() + 3_600_000 },
    });
    await stage.owner.takeJob({ v: 1, ...ADDRESS, messageId, priority: 'bulk', requestId: 'r' });
    return messageId;
  }
}

interface Actions {
  start(): void;
  nowMs(): number;
  observed(): Promise<Awaited<ReturnType<typeof readDeviceState>>['observed']>;
  isObserved(fields: object): Promise<unknown>;
  isOpen(logins?: number): Promise<unknown>;
  isStill(): Promise<void>;
  isSent(messageId: string, count: number): Promise<unknown>;
  send(...to: string[]): Promise<string>;
}

type Stage = Awaited<ReturnType<typeof openStage>>;

interface Moment {
  startMs: number;
  passedMs: number;
  /** At the device's state. */
  looks: number;
  isBroken: boolean;
}

async function openStage(now: Pick<Actions, 'nowMs'> & Moment) {
  Object.assign(now, { startMs: Date.now(), passedMs: 0, looks: 0, isBroken: false });
  const space = await openRedisSpace();
  /** Stands still until time passes in the test. */
  const clock = { nowMs: now.nowMs, monotonicMs: () => now.passedMs };
  const run: RunScript = (name, keys, args) => {
    if (name === 'read-device-state') now.looks++;
    if (name === 'read-device-state' && now.isBroken) throw new Error('it cannot be read');
    return space.store.run(name, keys, args);
  };
  const store: Store = { ...space.store, run };
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (sentence) => void lines.push(sentence),
    error: (sentence) => void lines.push(sentence),
    child: () => logger,
  };
  const keeper = new SessionKeeper({ store, clock, logger, owner: 'test', ttlMs: 3_600_000 });
  await ensureDevice(store, ADDRESS);
  const ownership: HeldDevice = (await keeper.acquire(ADDRESS))!;
  await requestLink(store, ADDRESS, { attemptId: 'one', method: 'qrCode', forceNew: false });
  await deviceKeyStore(store, ownership).commit({ creds: JSON.stringify({ account: {}, me: { id: ACCOUNT.jid } }) });
  const { desired } = await readDeviceState(store, ADDRESS);
  await reportObserved(store, ownership, desired!, { status: 'connecting', reason: 'restoring' }, 'linked');
  const script: SessionScript = {};
  return {
    ...{ space, store, keeper, clock, logger, ownership, script },
    lookMs: { busy: 20, quiet: 3_600_000 },
    /** Warnings and errors. */
    lines,
    sessions: [] as ScriptedSession[],
    logIn: logInOnScript(script, ACCOUNT) as (options: OpenSessionOptions) => Promise<ScriptedSession>,
    /** Each login waits for it, where it is there. */
    network: undefined as Deferred<void> | undefined,
    /** Of all devices of the process. */
    openings: new PQueue({ concurrency: 1 }),
    /** Gets the uncaught errors of the last session. */
    uncaught: (_error: Error): void => {},
    owner: undefined as unknown as DeviceOwner,
    registry: createMetrics(),
  };
}
