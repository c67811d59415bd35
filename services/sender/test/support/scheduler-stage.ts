import type { MessageContent, SendKind } from '@gateway/contracts/content/message-content';
import { defaultPace, type Pace } from '@gateway/contracts/devices/pace';
import { type MessageId, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { type HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import type { OnSessionEvent } from '@gateway/messenger/session/session-events';
import type { OutgoingMessage } from '@gateway/messenger/session/session-types';
import { sleep, systemClock } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import type { Gate } from '@gateway/sender/dispatching/gate';
import { MediaUploads } from '@gateway/sender/preparing/media-uploads';
import { DeviceScheduler } from '@gateway/sender/scheduling/device-scheduler';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { type Answer, ScriptedSession, type SessionScript } from '@gateway/testkit/scripted-session';
import PQueue from 'p-queue';

export const ADDRESS = { workspace: 'main', device: 'a' };
const HOUR_MS = 3_600_000;
/** Where the network has a file. */
export const UPLOADED = { url: '', directPath: '/x', mediaKey: '', fileSha256: '', fileEncSha256: '', atMs: 0 };
const ignore = () => {};

/** What the network was told: of which message, to whom. */
export interface Sent {
  to: string;
  platformId: string;
  text: string;
}

/** A scheduler of a device on a real Redis, and a network that a script plays: made again for each test. */
export function useScheduler() {
  const stage = {} as Stage;
  beforeEach(async () => {
    Object.assign(stage, await openStage());
  });
  afterEach(async () => {
    await stage.end();
    // A defect that is contained in production is one in a test.
    if (stage.errors.length > 0) throw new Error(`logged as errors: ${JSON.stringify(stage.errors)}`);
  });
  return stage;
}

type Stage = Awaited<ReturnType<typeof openStage>>;

async function openStage() {
  const space: RedisSpace = await openRedisSpace();
  await ensureDevice(space.store, ADDRESS);
  const registry = createMetrics();
  const readPlaces = () => {
    const counts = { waiting: 0, ready: 0, alone: 0, pausing: 0, held: 0, inFlight: 0 };
    for (const { sends } of schedulers) sends.countPlaces(counts);
    return counts;
  };
  const metrics = createSenderMetrics(registry, () => ({}), { readPlaces });
  const ids = platformIds(Buffer.alloc(16, 7));
  const sent: Sent[] = [];
  const [warnings, errors, failed, stalled]: [string[], string[], Error[], ScriptedSession[]] = [[], [], [], []];
  const logger: Logger = {
    ...{ debug: ignore, info: ignore, child: () => logger },
    warn: (sentence) => void warnings.push(sentence),
    error: (sentence, fields) => void errors.push(`${sentence} ${JSON.stringify(fields)}`),
  };
  const startMs = Date.now();
  let passedMs = 0;
  /** Stands still until time passes in the test. */
  const clock = { nowMs: () => startMs + passedMs, monotonicMs: () => passedMs };
  const steps: Steps = { between: (_step, run) => run() };
  const run: Store['run'] = (name, keys, args) => steps.between(name, () => space.store.run(name, keys, args));
  const store: Store = { ...space.store, run };
  const keeper = new SessionKeeper({ store: space.store, clock: systemClock, logger, owner: 'test', ttlMs: HOUR_MS });
  const ownership = (await keeper.acquire(ADDRESS)) as HeldDevice;
  const schedulers: DeviceScheduler[] = [];
  const sessions: ScriptedSession[] = [];
  /** What the network answers, in this test. */
  const network: SessionScript = {};
  const script: SessionScript = Object.assign(standFor(network), {
    answer: (message: OutgoingMessage) => {
      sent.push({ to: message.to, platformId: message.platformId, text: textOf(message) });
      return network.answer?.(message) ?? accepted();
    },
  });

  function makeScheduler(
    options: { pace?: Pace; isCareful?: boolean; ownership?: HeldDevice; gates?: readonly Gate[] } = {},
  ): DeviceScheduler {
    const mine = options.ownership ?? ownership;
    const deps = {
      store,
      ownership: mine,
      clock,
      logger,
      metrics,
      ids,
      results: new ResultWriter({ store, ownership: mine, clock, metrics }),
    };
    const scheduler: DeviceScheduler = new DeviceScheduler({
      ...deps,
      memory: new MemoryBudget(),
      uploads: new MediaUploads({ store, ownership: mine, clock, metrics, uploads: new PQueue() }),
      pace: options.pace ?? defaultPace(0),
      gates: options.gates,
      isCareful: () => options.isCareful ?? false,
      onFailed: (error) => failed.push(error),
      // As its owner does.
      onStalled: (session) => {
        stalled.push(session as ScriptedSession);
        scheduler.detach();
        void session.close();
      },
    });
    schedulers.push(scheduler);
    return scheduler;
  }

  async function accept(
    to: readonly string[],
    options: { kind?: SendKind; text?: string; content?: MessageContent; parts?: number; expiresInMs?: number } = {},
  ) {
    const nowMs = clock.nowMs();
    const { kind = 'text', text = 'hello', parts = 1, expiresInMs = HOUR_MS } = options;
    const { content = { kind: 'text' as const, text } } = options;
    const { messageId } = await acceptSend(space.store, ADDRESS, {
      ...{ kind, content, parts, recipients: to },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + expiresInMs },
    });
    return messageId;
  }
  const tagOf = (messageId: string): SendTag => parseMessageId(messageId)!.tag;

  return {
    ...{
      space,
      ids,
      metrics,
      logger,
      store,
      ownership,
      clock,
      steps,
      network,
      sent,
      warnings,
      errors,
      failed,
      stalled,
      makeScheduler,
      accept,
      tagOf,
    },
    makeSession(onEvent?: OnSessionEvent): ScriptedSession {
      const session = new ScriptedSession(script, onEvent);
      sessions.push(session);
      return session;
    },
    /** A send is accepted, and its job comes: resolves when there is nothing left to do for it, or nothing for now. */
    async start(scheduler: DeviceScheduler, messageId: MessageId, priority: 'otp' | 'bulk' = 'bulk'): Promise<void> {
      await scheduler.sends.takeIn({ v: 1, ...ADDRESS, messageId, priority, requestId: 'r' });
      const hasWork = () => scheduler.sends.inTurn().some((send) => send.messageId === messageId && !send.rests);
      while (hasWork()) await sleep(1);
    },
    /** What the metrics say of a series, as it is written: `gateway_uploads_total{outcome="failed"}`. */
    async metric(series: string): Promise<number> {
      const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length));
    },
    /** Of each recipient. */
    async statuses(messageId: string): Promise<string[]> {
      const all = await readRecipients(space.store, ADDRESS, tagOf(messageId), { from: 0, limit: 1_000 });
      return all.map(({ status, errorCode }) => (errorCode ? `${status} ${errorCode}` : status));
    },
    async counts(messageId: string) {
      return (await readSend(space.store, ADDRESS, messageId))!.counts;
    },
    /** Resolves when so many messages have gone out, and returns to whom. */
    sentTo: (count: number): Promise<string[]> =>
      eventually(() => sent.length >= count && sent.map(({ to }) => to), { everyMs: 1, what: `${count} messages` }),
    /** Time passes. */
    leap(ms: number): void {
      passedMs += ms;
    },
    /** Time passes, and the scheduler looks at its clock. */
    async pass(ms: number, scheduler: DeviceScheduler): Promise<void> {
      passedMs += ms;
      await scheduler.refresh();
    },
    async end(): Promise<void> {
      for (const scheduler of schedulers) scheduler.detach();
      for (const session of sessions) session.lapse();
      await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
      keeper.stop();
      await space.close();
    },
  };
}

/** What happens before a step in Redis, after it, or in its place. */
interface Steps {
  between(step: string, run: () => Promise<unknown>): Promise<unknown>;
}

/** Asks the script of the test each time, which may change. */
function standFor(network: SessionScript): SessionScript {
  return {
    lookUp: (number) => network.lookUp?.(number) ?? { exists: true },
    hiddenIdOf: (number) => network.hiddenIdOf?.(number),
    isAcquainted: (number) => network.isAcquainted?.(number) ?? true,
    isGiver: (number) => network.isGiver?.(number) ?? true,
    firstContacts: () => network.firstContacts?.() ?? 'open',
    restriction: () => network.restriction?.(),
    upload: (bytes) => network.upload?.(bytes) ?? UPLOADED,
    get caughtUp() {
      return network.caughtUp ?? Promise.resolve();
    },
  };
}

function accepted(): Answer {
  return { kind: 'accepted', atMs: Date.now() };
}

function textOf({ content }: OutgoingMessage): string {
  return content.kind === 'text' ? content.text : '';
}
