/**
 * The fire waits while it is further ahead than this: where processes start slowly, such as beside other work, blows by
 * the clock alone would leave no time in which a message can go out. Of short lists fewer go out between two blows, so that
 * there is something to lose in each of them.
 */
const MESSAGES_A_BLOW = 10;
const BLOWS_A_ROUND = 60;

/**
 * Whether the next blow is to wait for messages to go out.
 * @param round.messages all that are to go out in it, one-time passwords aside.
 * @param now.waiting messages that are not out.
 * @param now.accepted messages that the network took since it began.
 */
export function isAhead(
  { messages }: { messages: number },
  { blows, waiting, accepted }: { blows: number; waiting: number; accepted: number },
): boolean {
  return waiting > 0 && blows * Math.min(MESSAGES_A_BLOW, messages / BLOWS_A_ROUND) > accepted;
}
