/** Limits that the network puts on an account, with the sentence that people read. Both concern new conversations only. */
export const RESTRICTIONS = {
  reach_out_time_lock: 'The network lets this account start no new conversations for a time.',
  new_chat_cap: 'This account has started as many new conversations as the network allows it for now.',
} as const;

export type RestrictionKind = keyof typeof RESTRICTIONS;

/** What the network reports about an account. */
export interface Restriction {
  kind: RestrictionKind;
  /** When it ends, in ms; absent if the network gives no time. */
  untilMs?: number;
}

/** The same as a device remembers it, across its owners. */
export interface HeldRestriction extends Restriction {
  sinceMs: number;
  /** When the first of the questions about it was left unanswered, of those since the last answer. */
  silentSinceMs?: number;
  /** When a person was last written to although it had not been lifted. */
  triedAtMs?: number;
}
