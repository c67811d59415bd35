import type { ReadyContent } from '@gateway/contracts/content/message-content';
import { isPlausible } from '@gateway/contracts/sends/platform-id';
import { readContent, readRecipientNumber, readRecipients } from '@gateway/store/sends/read-send';
import { loadQuotes, type QuoteDeps, readOwnMessage } from './load-quotes.js';

/**
 * Rebuilds a message for a phone that could not read it, from what was accepted: in any process, after any restart,
 * for as long as the send is kept. A file is not uploaded again. `undefined` for messages of other clients.
 */
export async function messageOf(deps: QuoteDeps, platformId: string): Promise<ReadyContent | undefined> {
  const { store, address, ids } = deps;
  const id = ids.parse(platformId);
  const message = id && (await readOwnMessage(deps, id));
  if (!message || id.part > 0) return message;
  const { reply } = (await readContent(store, address, id.tag)) ?? {};
  if (!reply) return message;
  const [recipient] = await readRecipients(store, address, id.tag, { from: id.recipient, limit: 1 });
  const quoted = recipient && (await loadQuotes(deps, reply))(recipient.to);
  return quoted ? { ...message, quoted } : message;
}

/** The number that a message of the device went to; `undefined` for the id of another client, or of a send that is gone. */
export async function recipientOf({ store, address, ids }: QuoteDeps, platformId: string): Promise<string | undefined> {
  const parts = ids.parse(platformId);
  return parts && isPlausible(parts) ? readRecipientNumber(store, address, parts) : undefined;
}
