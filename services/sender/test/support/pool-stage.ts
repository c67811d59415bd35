import { defaultPace } from '@gateway/contracts/devices/pace';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import type { Logger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { SenderPool } from '@gateway/sender/fleet/sender-pool';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import type { Standing } from '@gateway/store/core/confirming/standing';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { readDeviceState, reportObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { logInOnScript, type SessionScript } from '@gateway/testkit/scripted-session';
import { silentLogger } from '@gateway/testkit/silent-logger';
import PQueue from 'p-queue';

const ACCOUNT = { jid: '491700000031@s.whatsapp.net', phone: '491700000031', name: 'Shop' };
/** Owners hear of changes by doorbells alone. */
const NEVER = { busy: 3_600_000, quiet: 3_600_000 };

/** Some senders in this process, on one Redis, with sessions that need no network. */
export class PoolStage {
  readonly senders: { pool: SenderPool; stop(): Promise<void> }[] = [];
  /** What the network answers. */
  script: SessionScript = {};
  logins = 0;
  /** Connections that are there now. */
  connected = 0;
  /** How many steps had no answer. */
  frozenSteps = 0;
  /** How long senders that end wait for each of their steps. Default: as they do. */
  endMs: number | undefined;
  /** By how much the clock of the senders is ahead. */
  passedMs = 0;
  /** What each login takes. */
  loginMs = 0;
  /** What the end of each session takes, after its connection is closed. */
  closeMs = 0;
  readonly #clock = { nowMs: systemClock.nowMs, monotonicMs: () => performance.now() + this.passedMs };

  private constructor(
    readonly space: RedisSpace,
    readonly doorbells: DoorbellListener,
  ) {}

  static async open(): Promise<PoolStage> {
    const space = await openRedisSpace();
    return new PoolStage(space, await DoorbellListener.listen(space.clients.subscriber, space.store.space));
  }

  async close(): Promise<void> {
    await Promise.all(this.senders.map(({ stop }) => stop()));
    this.doorbells.close();
    await this.space.close();
  }

  /** Steps that use one of these keys have no answer until the function is called that this returns. */
  freeze(keys: readonly string[]): () => void {
    const { store } = this.space;
    const { run } = store;
    const thawed = defer<void>();
    const runLater = async (...args: Parameters<typeof run>) => {
      if (args[1].some((key) => keys.includes(String(key)))) {
        this.frozenSteps += 1;
        await thawed.promise;
      }
      return run(...args);
    };
    Object.assign(store, { run: runLater });
    return () => {
      Object.assign(store, { run });
      thawed.resolve();
    };
  }

  /** Devices that each sender has open. */
  loads(): number[] {
    return this.senders.map(({ pool }) => pool.countStates().open);
  }

  async become(wanted: number[]): Promise<void> {
    const isSo = () => JSON.stringify(this.loads()) === JSON.stringify(wanted);
    await eventually(isSo, { what: `${wanted}` }).catch((error) => {
      throw new Error(`${(error as Error).message}: ${this.loads()}`);
    });
  }

  async link(device: string, workspace = 'main'): Promise<void> {
    const { store } = this.space;
    const address = { workspace, device };
    await ensureDevice(store, address);
    await requestLink(store, address, { attemptId: 'one', method: 'qrCode', forceNew: false });
    const ownership = (await takeDevice(store, address, { owner: 'linking', ttlMs: 60_000 }))!;
    await deviceKeyStore(store, ownership).commit({ creds: JSON.stringify({ account: {}, me: { id: ACCOUNT.jid } }) });
    const { desired } = await readDeviceState(store, address);
    await reportObserved(store, ownership, desired!, { status: 'connecting', reason: 'restoring' }, 'linked');
    await giveDeviceBack(store, ownership);
  }

  /** @param options.standing of its master. */
  addSender(
    id: string,
    { standing, logger = silentLogger }: { standing?: Standing; logger?: Logger } = {},
  ): { pool: SenderPool; stop(): Promise<void> } {
    const { store } = this.space;
    const [clock, doorbells] = [this.#clock, this.doorbells];
    const keeper = new SessionKeeper({
      ...{ store, clock, logger, owner: id, ttlMs: 24 * 3_600_000 },
      ...(standing && { standing }),
    });
    const logIn = logInOnScript(this.script, ACCOUNT);
    const pool = new SenderPool({
      ...{ store, keeper, clock, logger, doorbells, ...(this.endMs && { endMs: this.endMs }) },
      ...{ processId: id, maxDevices: 200, memberTtlMs: 60_000, tickMs: 100, lookMs: NEVER },
      metrics: createSenderMetrics(createMetrics(), () => ({})),
      endpoint: { url: 'ws://127.0.0.1:1', trust: { kind: 'insecure' } },
      openSession: async (options) => {
        await sleep(this.loginMs);
        [this.logins, this.connected] = [this.logins + 1, this.connected + 1];
        const onEvent: typeof options.onEvent = (event) => {
          if (event.kind === 'closed') this.connected -= 1;
          return options.onEvent(event);
        };
        const session = await logIn({ ...options, onEvent });
        const close = session.close.bind(session);
        session.close = async () => {
          await close();
          await sleep(this.closeMs);
        };
        return session;
      },
      clientVersion: new ClientVersion({ store, logger, clock }),
      ...{ defaultPace: defaultPace(0), ackTimeoutMs: 5_000 },
      ...{ uploads: new PQueue(), openings: new PQueue({ concurrency: 8 }), memory: new MemoryBudget() },
    });
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      stopped ??= pool.stop().then(() => keeper.stop());
      await stopped;
    };
    const sender = { pool, stop };
    this.senders.push(sender);
    return sender;
  }
}
