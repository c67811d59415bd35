/** Resends per contact in the hour that began at `sinceMs` (Unix milliseconds), as stored in the credentials. */
export interface ResendTally {
  sinceMs: number;
  /** By the jid of a person. */
  counts: [contact: string, count: number][];
}

/**
 * Without a person, who counts from nothing again; `undefined` when they are not in it.
 * @param users their numbers and hidden identifiers, digits.
 */
export function withoutPerson(tally: ResendTally | undefined, users: ReadonlySet<string>): ResendTally | undefined {
  const counts = tally?.counts.filter(([contact]) => !users.has(/^\d+/.exec(contact)?.[0] ?? contact));
  return tally && counts && counts.length < tally.counts.length ? { ...tally, counts } : undefined;
}
