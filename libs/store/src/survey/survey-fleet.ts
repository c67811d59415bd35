import {
  type DesiredState,
  type DeviceStatus,
  deriveStatus,
  type ObservedState,
  type Reason,
  type Want,
} from '@gateway/contracts/devices/device-state';
import { sessionKeyPrefix, shardKeys } from '@gateway/contracts/redis-keys';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import type { Totals } from '@gateway/contracts/sends/totals';
import { SHARDS } from '@gateway/contracts/shards';
import { defineScript, number, text } from '../core/scripts/define-script.js';
import type { Store } from '../core/store.js';
import { listMembers, type Member, mostDevices } from '../fleet/members.js';
import { readTotals } from '../sends/read-totals.js';

const surveyStep = defineScript({
  name: 'survey-shard',
  whenFull: 'runs',
  keys: ['devices', 'promised'],
  args: { shardBase: text, sessionPrefix: text, nowMs: number },
  reply: (reply) =>
    reply as [messages: number, sends: number, overdue: number, oldestMs: number, ...kinds: (string | number)[]],
});

/** The whole installation at one moment. Plain JSON. */
export interface Survey {
  atMs: number;
  totals: Totals;
  /** By the name of the error, of all that ever failed. */
  failed: Record<string, number>;
  backlogMessages: number;
  openSends: number;
  overdueSends: number;
  /** When the most overdue open send was promised to have gone out. */
  overdueSinceMs?: number;
  devices: { state: DeviceStatus; reason: Reason | 'none'; count: number }[];
  senders: number;
  heldDevices: number;
  capacityDevices: number;
}

/** Three commands for each shard, and in Redis about 25 microseconds for each device. */
export async function surveyFleet(store: Store, nowMs: number): Promise<Survey> {
  const [{ kinds: totals, errors }, members, ...shards] = await Promise.all([
    readTotals(store),
    listMembers(store),
    ...Array.from({ length: SHARDS }, (_, shard) => surveyShard(store, shard, nowMs)),
  ]);
  const sum = (place: 0 | 1 | 2) => shards.reduce((total, counts) => total + counts[place], 0);
  const oldest = shards.map(([, , , oldestMs]) => oldestMs).filter((ms) => ms > 0);
  return {
    ...{ atMs: nowMs, totals, backlogMessages: sum(0), openSends: sum(1), overdueSends: sum(2) },
    failed: Object.fromEntries([...errors].map(([code, count]) => [recipientErrorName(code) ?? 'unknown', count])),
    ...(oldest.length > 0 && { overdueSinceMs: Math.min(...oldest) }),
    devices: countDevices(shards, members),
    senders: members.length,
    heldDevices: members.reduce((total, { held }) => total + held, 0),
    capacityDevices: members.reduce((total, { capacity }) => total + capacity, 0),
  };
}

type ShardCounts = Awaited<ReturnType<typeof surveyShard>>;

function surveyShard({ space, ...store }: Store, shard: number, nowMs: number) {
  const { base, devices, promised } = shardKeys(space, shard);
  const sessionPrefix = sessionKeyPrefix(space, shard);
  return surveyStep({ space, ...store }, { devices, promised, shardBase: base, sessionPrefix, nowMs });
}

function countDevices(shards: readonly ShardCounts[], members: readonly Member[]): Survey['devices'] {
  const hasSender = members.some(({ held, capacity }) => held < mostDevices(capacity));
  const counts = new Map<string, number>();
  for (const [, , , , ...kinds] of shards) {
    for (let i = 0; i + 1 < kinds.length; i += 2) {
      const status = statusOf(String(kinds[i]), hasSender);
      const name = `${status.status} ${status.reason ?? 'none'}`;
      counts.set(name, (counts.get(name) ?? 0) + Number(kinds[i + 1]));
    }
  }
  return [...counts].map(([name, count]) => {
    const [state, reason] = name.split(' ') as [DeviceStatus, Reason | 'none'];
    return { state, reason, count };
  });
}

function statusOf(kind: string, hasSender: boolean): { status: DeviceStatus; reason?: Reason } {
  const [want, keepsKeys, status, reason, hasPhone, isOfAttempt, isOwned] = kind.split(' ');
  const desired: DesiredState | undefined = want
    ? { want: want as Want, attemptId: 'a', ...(keepsKeys && { keepsKeys }) }
    : undefined;
  const observed: ObservedState | undefined = status
    ? {
        ...{ status: status as DeviceStatus, attemptId: isOfAttempt ? 'a' : 'b', sinceMs: 0 },
        ...(reason && { reason: reason as Reason }),
        ...(hasPhone && { phone: hasPhone }),
      }
    : undefined;
  return deriveStatus(desired, observed, isOwned === '1', { hasSender });
}
