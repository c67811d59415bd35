/** How something new comes into Redis: refused while it is full. */
export const REFUSED = [
  'accept-send',
  'ask-owner',
  'claim-repeat',
  'close-repeat',
  'count-address',
  'create-webhook',
  'place-repeat',
  'replay-webhook',
  'reserve-blob',
  'take-backlog',
  'write-chunk',
];
/**
 * A step may come twice: the client of owners, and all clients of a Cluster, send it again when they lose the connection before the reply. Then a heartbeat is
 * a later one, as is a lease, a message takes its place in the pace twice, a request counts twice towards its limit, one that was claimed twice counts as one more attempt that
 * a phone may have seen, and a line of the audit log is there twice: each errs to the safe side.
 */
export const CHANGES_AGAIN = [
  'beat-heart',
  'claim-recipient',
  'count-token',
  'record-change',
  'take-pace',
  'take-webhook',
];
/**
 * Their second answer is another one: it says that nothing was left to do. What that costs when the first answer was lost, and the
 * client asked again by itself.
 */
const COUNTED_ONE_LESS = 'a count that an operator or a log line is told is one too low';
const UNUSED = 'no one looks at the answer';
export const ANSWERS_ONCE: Record<string, string> = {
  'add-opt-outs': COUNTED_ONE_LESS,
  'bound-log': UNUSED,
  'cancel-link': UNUSED,
  'cancel-send': COUNTED_ONE_LESS,
  'count-token': 'a request counts twice, which errs to the safe side',
  'delete-webhook': 'an operator is told that it was not there',
  'expire-send': UNUSED,
  'forget-recipient': COUNTED_ONE_LESS,
  'forget-session': COUNTED_ONE_LESS,
  'join-opt-out': UNUSED,
  'leave-instance': UNUSED,
  'list-device': 'no line of the log tells that a device was put back into its list',
  'note-ended': UNUSED,
  'record-received': 'the message is there: what is kept of it is not counted again',
  'record-results': 'the time from an ack to its receipt is not measured',
  'record-token-use': UNUSED,
  'release-device': UNUSED,
  'release-repeat': UNUSED,
  'remove-opt-out': COUNTED_ONE_LESS,
  'replace-event': COUNTED_ONE_LESS,
  'request-link': 'the attempt is there, and is joined',
  'request-unlink': 'it names the same attempt, which is what is waited for',
  reseal: `the value is read again, and is sealed as it should be: ${COUNTED_ONE_LESS}`,
  'serve-send': 'no doorbell is rung for a send that has expired: its owner finds out when it looks',
  'settle-repeat': UNUSED,
  'take-pace': 'the message waits for one more place in the pace',
  'write-always': 'an operator is told that the workspace was there already',
};
