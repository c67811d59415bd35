import { type Member, mostDevices } from '@gateway/store/fleet/members';

/** How many devices the senders may have, all together. */
export function countPlaces(members: readonly Member[]): number {
  return members.reduce((sum, { capacity }) => sum + capacity, 0);
}

/** The members, each with a tenth more room when there is too little for all devices: rather than that one is left out. */
export function makeRoom(members: readonly Member[], devices: number): readonly Member[] {
  if (devices <= countPlaces(members)) return members;
  return members.map((member) => ({ ...member, capacity: mostDevices(member.capacity) }));
}
