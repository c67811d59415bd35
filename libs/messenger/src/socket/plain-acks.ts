import { AsyncValue } from '@gateway/runtime/process/async-value';
import { NACK_REASONS } from './baileys.js';

/** The library's log lines about stanzas that it cannot read or handle. */
const REASONS = ['ParsingError', 'UnhandledError', 'MissingMessageSecret'] as const;

const plain = new AsyncValue<true>();

// The table is one for all sockets of the process, and other clients in it keep what they say.
for (const reason of REASONS) {
  const code = NACK_REASONS[reason];
  const get = () => (plain.get() ? 0 : code);
  Object.defineProperty(NACK_REASONS, reason, { configurable: true, enumerable: true, get });
}

/**
 * Runs `work` of the library so that its acks carry no error. The network takes an error for "not taken": it keeps the
 * stanza first in the queue, and withholds everything behind it (Baileys issue 2779). What cannot be read today cannot
 * be read tomorrow either; a message is asked for again by a retry receipt, with or without an error in the ack.
 */
export function withPlainAcks<Result>(work: () => Result): Result {
  return plain.run(true, work);
}
