import type { Member } from '@gateway/store/fleet/members';

/** No process keeps more than so many tenths of its fair share. */
const BOUND_TENTHS = 11;

export interface Fleet<Device> {
  self: string;
  /** In the same order for all. */
  members: readonly Member[];
  /** Devices that are to be owned, and are not. */
  orphans: readonly Device[];
  /** How many are to be owned in all: loads are a second old, and what moves is in none of them. */
  devices: number;
}

/**
 * Which devices without an owner this process claims now: its part of them, after which all who live have the same number
 * as far as they have room. Each process works this out alone from the same lists, so that hardly two claim one device;
 * where their lists differ, the claim decides. Devices that have an owner stay where they are.
 *
 * Then come those that another has not claimed in good time, up to a tenth over the fair share.
 * @param isLate of a device that has had no owner for a while.
 */
export function chooseOrphans<Device>(
  { self, members, orphans, devices }: Fleet<Device>,
  isLate: (device: Device) => boolean = () => false,
): Device[] {
  const shares = fillUp(members, orphans.length);
  const before = members.findIndex(({ id }) => id === self);
  if (before < 0) return [];
  const from = shares.slice(0, before).reduce((sum, share) => sum + share, 0);
  const to = from + shares[before]!;
  const { held, capacity } = members[before]!;
  const room = Math.min(capacity, boundOf(members, devices)) - held - (to - from);
  const ofOthers = room > 0 ? [...orphans.slice(0, from), ...orphans.slice(to)] : [];
  return [...orphans.slice(from, to), ...ofOthers.filter(isLate).slice(0, room)];
}

/** How many devices this process has beyond a tenth over its fair share, for others that have room. */
export function countSurplus({ self, members, devices }: Fleet<unknown>): number {
  const held = members.find(({ id }) => id === self)?.held ?? 0;
  return Math.max(0, held - boundOf(members, devices));
}

function boundOf(members: readonly Member[], devices: number): number {
  const shares = fillUp(
    members.map((member) => ({ ...member, held: 0 })),
    devices,
  );
  const isRoomForAll = shares.reduce((sum, share) => sum + share, 0) >= devices;
  if (!isRoomForAll) return Number.POSITIVE_INFINITY;
  // Small members are full below the level of the others, who share what is left.
  const level = Math.max(0, ...shares);
  const isOpen = (index: number) => members[index]!.capacity >= level;
  const open = shares.filter((_, index) => isOpen(index));
  const fairShare = open.reduce((sum, share) => sum + share, 0) / Math.max(open.length, 1);
  return Math.ceil((fairShare * BOUND_TENTHS) / 10);
}

/** Of so many new devices, how many each member gets when those with the fewest come first: as water fills a vessel. */
function fillUp(members: readonly Member[], count: number): number[] {
  const takes = (level: number) => members.map(({ held, capacity }) => Math.max(0, Math.min(capacity, level) - held));
  const sum = (shares: readonly number[]) => shares.reduce((total, share) => total + share, 0);
  let [low, high] = [0, Math.max(0, ...members.map(({ capacity }) => capacity))];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sum(takes(middle)) <= count) low = middle;
    else high = middle - 1;
  }
  const shares = takes(low);
  let left = count - sum(shares);
  const next = takes(low + 1);
  for (let i = 0; i < shares.length && left > 0; i++) {
    if (next[i]! <= shares[i]!) continue;
    shares[i]! += 1;
    left -= 1;
  }
  return shares;
}
