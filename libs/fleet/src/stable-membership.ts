import type { Member } from '@gateway/store/fleet/members';

/** Devices move for balance only after the senders have been the same for this long: a rolling update is not a reason. */
const STABLE_AFTER_MS = 30_000;

/** Watches whether senders come and go. */
export class StableMembership {
  private ids = '';
  private sinceMs: number;

  constructor(private readonly monotonicMs: () => number) {
    this.sinceMs = monotonicMs();
  }

  isStable(members: readonly Member[]): boolean {
    const ids = members.map(({ id }) => id).join(' ');
    if (ids !== this.ids) {
      this.ids = ids;
      this.sinceMs = this.monotonicMs();
    }
    return this.monotonicMs() - this.sinceMs >= STABLE_AFTER_MS;
  }
}
