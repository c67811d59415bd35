import type { SendJob } from '@gateway/contracts/jobs';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import type { Producer } from '@gateway/queue/producer';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Steward } from '@gateway/sender/fleet/steward';
import { ensureDevice } from '@gateway/store/devices/devices';
import { beatHeart, leaveMembers } from '@gateway/store/fleet/members';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';

const workspace = 'main';
const soon = { everyMs: 5 };

interface Stage {
  space: RedisSpace;
  stewards: { steward: Steward; end: () => Promise<void> }[];
  jobs: { processId: string; job: SendJob; options: { again: boolean } | undefined }[];
  /** Lines of the log. */
  errors: string[];
  /** How far the clocks of the processes are ahead. */
  aheadMs: number;
  /** Where the monotonic clock stands still. */
  stoppedAtMs: number | undefined;
  /** What becomes of a job, once it is noted. */
  adding: () => Promise<void>;
  /** The node of some keys answers again. */
  thaw: () => void;
}

/** Stewards of a space of their own, with the devices `a` and `b`; all new for each test. */
export function useStewards() {
  const stage = {} as Stage;
  const logger = {
    ...createLogger({ service: 'test', level: 'error' }),
    warn: () => {},
    error: (line: string) => void stage.errors.push(line),
  };

  beforeEach(async () => {
    const nothing = { stewards: [], jobs: [], errors: [], aheadMs: 0, stoppedAtMs: undefined };
    Object.assign(stage, { ...nothing, space: await openRedisSpace(), adding: async () => {}, thaw: () => {} });
    for (const device of ['a', 'b']) await ensureDevice(stage.space.store, { workspace, device });
  });
  afterEach(async () => {
    stage.thaw();
    await Promise.all(stage.stewards.map(({ end }) => end()));
    await stage.space.close();
  });

  async function start(owner = 'sender-1', { ttlMs = 60_000 } = {}): Promise<Steward> {
    const { store } = stage.space;
    const clock = {
      nowMs: () => Date.now() + stage.aheadMs,
      monotonicMs: () => stage.stoppedAtMs ?? systemClock.monotonicMs(),
    };
    const keeper = new SessionKeeper({ store, clock, logger, owner, ttlMs });
    keeper.start();
    await beat(owner);
    const producer: Producer = {
      addSend: (processId, job, options) => {
        stage.jobs.push({ processId, job, options });
        return stage.adding();
      },
      close: async () => {},
    };
    const steward = new Steward({ store, keeper, producer, clock, logger, tickMs: 5, mendMs: 100, turnMs: 100 });
    let ended: Promise<void> | undefined;
    const end = () =>
      (ended ??= (async () => {
        await steward.stop();
        await keeper.stop();
        await leaveMembers(store, owner);
      })());
    stage.stewards.push({ steward, end });
    return steward;
  }
  const beat = (id: string) => beatHeart(stage.space.store, { self: { id, held: 0, capacity: 10 }, ttlMs: 60_000 });
  async function send(device: string, { lifeMs = 60_000 } = {}): Promise<string> {
    const { messageId } = await acceptSend(
      stage.space.store,
      { workspace, device },
      {
        ...{ kind: 'text', priority: 'bulk', content: { kind: 'text', text: 'hello' }, parts: 1 },
        ...{ recipients: ['491511'], owner: 't', requestId: 'r' },
        ...{ nowMs: Date.now(), expiresAtMs: Date.now() + lifeMs },
      },
    );
    return messageId;
  }
  const read = (device: string, messageId: string) => readSend(stage.space.store, { workspace, device }, messageId);
  const isClosed = (device: string, messageId: string) =>
    eventually(async () => (await read(device, messageId))?.state === 'closed', soon);
  const dueMs = async (device: string, messageId: string) => {
    const { tag } = (await read(device, messageId))!;
    const { due } = shardKeys(stage.space.store.space, shardOf({ workspace, device }));
    return Number(await stage.space.store.redis.zscore(due, `${workspace}/${device}/${tag}`));
  };
  const own = async (device: string) =>
    (await takeDevice(stage.space.store, { workspace, device }, { owner: 'sender-7', ttlMs: 60_000 }))!;

  return { stage, start, beat, send, read, isClosed, dueMs, own };
}
