import type { Workspace } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { ACTIVITY_FIELDS, type MinuteActivity, unpackMinute } from '@gateway/contracts/sends/activity';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { SHARDS } from '@gateway/contracts/shards';
import type { Store } from '../../core/store.js';

const MINUTES = 60;

export interface Activity {
  /** Of each minute, the oldest first. */
  minutes: (MinuteActivity & { atMs: number })[];
  /** Reason -> recipients that failed of it, in the hours of these minutes. */
  failures: Record<string, number>;
}

/**
 * What became of recipients in a workspace from one time to another, both rounded down to a minute, the second not included; of the
 * last seven days. Each hour is two commands per shard.
 */
export async function readActivity(
  store: Store,
  workspace: Workspace,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<Activity> {
  const [first, end] = [fromMs, toMs].map((ms) => Math.floor(ms / 60_000)) as [number, number];
  const hours = range(Math.floor(first / MINUTES), Math.ceil(end / MINUTES));
  const known = await Promise.all(hours.map((hour) => readHour(store, workspace, hour)));
  const failures: Record<string, number> = {};
  for (const { errors } of known) {
    for (const [code, count] of errors) {
      const name = recipientErrorName(code) || 'unknown';
      failures[name] = (failures[name] ?? 0) + count;
    }
  }
  const minutes = range(first, end).map((minute) => {
    const shards = known[Math.floor(minute / MINUTES) - hours[0]!]!.shards;
    return { ...sumOf(shards.map((bytes) => unpackMinute(bytes, minute % MINUTES))), atMs: minute * 60_000 };
  });
  return { minutes, failures };
}

async function readHour(
  { redis, space }: Store,
  workspace: Workspace,
  hour: number,
): Promise<{ shards: Buffer[]; errors: [code: number, count: number][] }> {
  const keys = range(0, SHARDS).map((shard) => shardKeys(space, shard).activity(workspace));
  const [strings, hashes] = await Promise.all([
    Promise.all(keys.map((key) => redis.getBuffer(`${key}:${hour}`))),
    Promise.all(keys.map((key) => redis.hgetall(`${key}:errors:${hour}`))),
  ]);
  return {
    shards: strings.filter((bytes) => bytes !== null),
    errors: hashes.flatMap((errors) =>
      Object.entries(errors).map(([code, count]): [number, number] => [Number(code), Number(count)]),
    ),
  };
}

function sumOf(each: readonly MinuteActivity[]): MinuteActivity {
  return Object.fromEntries(
    ACTIVITY_FIELDS.map((field) => [field, each.reduce((sum, counts) => sum + counts[field], 0)]),
  ) as MinuteActivity;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}
