/** How far the clock of the console is ahead of this browser's, in ms. */
let aheadMs = 0;

/**
 * The time of the console. That of the browser may be wrong by hours, and a code counts for seconds: it is corrected by what
 * the answers of the console say, and left alone while it agrees with them.
 */
export const nowMs = () => Date.now() + aheadMs;

/** @param date the `Date` of an answer: when it was made, in whole seconds, between the request and now. */
export function hearDate(date: string | null, askedAtMs: number): void {
  const secondMs = Date.parse(date ?? '');
  if (Number.isNaN(secondMs)) return;
  const [least, most] = [secondMs - Date.now(), secondMs + 1_000 - askedAtMs];
  aheadMs = Math.min(most, Math.max(least, aheadMs));
}
