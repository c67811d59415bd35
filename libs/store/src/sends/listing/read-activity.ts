import type { Workspace } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { type MinuteActivity, sumActivity, unpackMinute } from '@gateway/contracts/sends/activity';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { SHARDS } from '@gateway/contracts/shards';
import type { Store } from '../../core/store.js';

const MINUTES = 60;
/** Longer than Redis keeps them. */
const KEPT_HOURS = 8 * 24;
const NOTHING = sumActivity([]);

export interface Activity {
  /** Of each minute, the oldest first. */
  minutes: (MinuteActivity & { atMs: number })[];
  /** Reason -> recipients that failed of it, in the hours of these minutes. */
  failures: Record<string, number>;
}

/** An hour, all shards together: `undefined` where nothing happened. */
interface Hour {
  minutes: MinuteActivity[] | undefined;
  errors: [code: number, count: number][];
}

/** Hours since 1970 -> what is known of them for good. */
export type FinishedHours = Map<number, Hour>;

/** Processes whose clocks differ by less than this count into an hour that is over. */
const LATE_MINUTES = 5;
/** Hours that are read at once, so that others get their turn. */
const TOGETHER = 8;

/**
 * What became of recipients in a workspace from one time to another, both rounded down to a minute, the second not included; of the
 * last seven days. Each hour is two commands per shard.
 * @param finished hours that are over are read once and kept there, for the next call.
 */
export async function readActivity(
  store: Store,
  workspace: Workspace,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  finished: FinishedHours = new Map(),
): Promise<Activity> {
  const [first, end] = [fromMs, toMs].map((ms) => Math.floor(ms / 60_000)) as [number, number];
  const hours = range(Math.floor(first / MINUTES), Math.ceil(end / MINUTES));
  for (const hour of finished.keys()) if (hour < Math.floor(end / MINUTES) - KEPT_HOURS) finished.delete(hour);
  const known: Hour[] = [];
  for (let from = 0; from < hours.length; from += TOGETHER) {
    const some = hours.slice(from, from + TOGETHER);
    known.push(...(await Promise.all(some.map((hour) => finished.get(hour) ?? readHour(store, workspace, hour)))));
  }
  hours.forEach((hour, i) => {
    if ((hour + 1) * MINUTES + LATE_MINUTES <= end) finished.set(hour, known[i]!);
  });
  const failures: Record<string, number> = {};
  for (const [code, count] of known.flatMap(({ errors }) => errors)) {
    const name = recipientErrorName(code) || 'unknown';
    failures[name] = (failures[name] ?? 0) + count;
  }
  const minutes = range(first, end).map((minute) => {
    const counts = known[Math.floor(minute / MINUTES) - hours[0]!]!.minutes?.[minute % MINUTES] ?? NOTHING;
    return { ...counts, atMs: minute * 60_000 };
  });
  return { minutes, failures };
}

async function readHour({ redis, space }: Store, workspace: Workspace, hour: number): Promise<Hour> {
  const keys = range(0, SHARDS).map((shard) => shardKeys(space, shard).activity(workspace));
  const [strings, hashes] = await Promise.all([
    Promise.all(keys.map((key) => redis.getBuffer(`${key}:${hour}`))),
    Promise.all(keys.map((key) => redis.hgetall(`${key}:errors:${hour}`))),
  ]);
  const shards = strings.filter((bytes) => bytes !== null);
  return {
    minutes:
      shards.length === 0
        ? undefined
        : range(0, MINUTES).map((minute) => sumActivity(shards.map((bytes) => unpackMinute(bytes, minute)))),
    errors: hashes.flatMap((errors) =>
      Object.entries(errors).map(([code, count]): [number, number] => [Number(code), Number(count)]),
    ),
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}
