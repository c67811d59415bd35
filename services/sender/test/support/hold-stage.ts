import type { Restriction } from '@gateway/contracts/devices/restriction';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { NewContactHold } from '@gateway/sender/holding/new-contact-hold';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import type { Store } from '@gateway/store/core/store';
import { readRestriction } from '@gateway/store/devices/incidents/restrictions';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';

export const ADDRESS = { workspace: 'main', device: 'a' };
export const MINUTE_MS = 60_000;

/** What a hold sees and does in a test: made again for each. */
interface Stage {
  space: RedisSpace;
  store: Store;
  ownership: Ownership;
  nowMs: number;
  /** What it asked of its owner. */
  calls: string[];
  /** What the network says when it is asked, and how often it was. */
  said: Restriction | undefined | Error;
  questions: number;
  /** About which limit. */
  abouts: unknown[];
  /** The numbers of those who wait. */
  waiting: string[];
}

/** A real store, a clock that stands still, and a network that says what the test wants. */
export function useHoldStage() {
  const stage = {} as Stage;
  beforeEach(async () => {
    const space = await openRedisSpace();
    const ownership = (await takeDevice(space.store, ADDRESS, { owner: 'a', ttlMs: 60_000 }))!;
    const nothing = { calls: [], said: undefined, questions: 0, abouts: [], waiting: [] };
    Object.assign(stage, { space, store: space.store, ownership, nowMs: 1_000_000, ...nothing });
  });
  afterEach(() => stage.space.close());

  const registry = createMetrics();
  const metrics = createSenderMetrics(registry, () => ({}));
  const session = {
    readRestriction: async (about) => {
      stage.questions++;
      stage.abouts.push(about);
      if (stage.said instanceof Error) throw stage.said;
      return stage.said;
    },
    findAcquainted: async (numbers: readonly string[]) => new Set(numbers.filter((number) => number.startsWith('1'))),
  } as Partial<MessengerSession> as MessengerSession;

  function makeHold(): NewContactHold {
    const { store, ownership, calls } = stage;
    return new NewContactHold({
      ...{ store, ownership, metrics },
      logger: createLogger({ service: 'test', level: 'error' }),
      clock: { nowMs: () => stage.nowMs, monotonicMs: () => stage.nowMs },
      onHeld: () => calls.push('held'),
      onLifted: () => calls.push('lifted'),
      onMet: (phone) => calls.push(`met ${phone}`),
      findHeld: async (isWanted) => stage.waiting.find(isWanted),
      onFailed: (error) => calls.push(error instanceof FencedError ? 'fenced' : error.message),
    });
  }

  return {
    stage,
    session,
    makeHold,
    attached(hold = makeHold()): NewContactHold {
      hold.attach(session);
      return hold;
    },
    answered: () => new Promise(setImmediate),
    stored: () => readRestriction(stage.space.store, ADDRESS),
    async restrictedDevices(): Promise<number> {
      const { values } = await registry.getSingleMetric('gateway_restricted_devices')!.get();
      return values.reduce((sum, { value }) => sum + value, 0);
    },
  };
}
