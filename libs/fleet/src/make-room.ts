import { type Member, mostDevices } from '@gateway/store/fleet/members';

/** Senders that start together are counted one after the other, and those that stopped come back: until then all have room. */
const BELIEVED_AFTER_MS = 10_000;

export interface RoomDeps {
  monotonicMs(): number;
  /** From now on senders take more devices than their capacity. Called once each time that this begins. */
  onFull(shortage: { devices: number; places: number }): void;
}

/** Whether the senders have places for all devices, and what they do when they have not. */
export class Room {
  private shortSinceMs: number | undefined;
  private isFull = false;

  constructor(private readonly deps: RoomDeps) {}

  /** The members; when there have been too few places for a while, each with a tenth more: rather than that a device is left out. */
  make(members: readonly Member[], devices: number): readonly Member[] {
    const places = members.reduce((sum, { capacity }) => sum + capacity, 0);
    const nowMs = this.deps.monotonicMs();
    this.shortSinceMs = devices > places ? (this.shortSinceMs ?? nowMs) : undefined;
    const isFull = this.shortSinceMs !== undefined && nowMs - this.shortSinceMs >= BELIEVED_AFTER_MS;
    if (isFull && !this.isFull) this.deps.onFull({ devices, places });
    this.isFull = isFull;
    return isFull ? members.map((member) => ({ ...member, capacity: mostDevices(member.capacity) })) : members;
  }
}
