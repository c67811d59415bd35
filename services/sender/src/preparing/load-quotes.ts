import { contentOfPart, type Quoted, type ReadyContent, type Reply } from '@gateway/contracts/content/message-content';
import { platformIdOf } from '@gateway/contracts/content/received-id';
import type { DeviceAddress, SendTag } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import type { PlatformIds } from '@gateway/contracts/sends/platform-id';
import { systemClock } from '@gateway/runtime/clock';
import { readUpload } from '@gateway/store/blobs/blobs';
import type { Store } from '@gateway/store/core/store';
import { readReceived } from '@gateway/store/inbound/received-messages';
import { readContent, readRecipients } from '@gateway/store/sends/read-send';

export interface QuoteDeps {
  store: Store;
  address: DeviceAddress;
  ids: PlatformIds;
}

/** What the message to a number quotes. */
export type QuoteFor = (to: string) => Quoted | undefined;

/** The quotes of a send, read once for all recipients. Deleted content is left out. */
export async function loadQuotes(deps: QuoteDeps, reply: Reply | undefined): Promise<QuoteFor> {
  if (!reply) return () => undefined;
  const content = await contentOf(deps, reply).catch(() => undefined);
  const quote = (platformId: string, from?: string): Quoted => ({
    platformId,
    ...(from !== undefined && { from }),
    ...(content && { content }),
  });
  if (reply.kind === 'received') return () => quote(platformIdOf(reply.platformId), reply.from);
  const { tag, part } = reply;
  const ownId = (recipient: number) => quote(deps.ids.make({ tag, recipient, part }));
  if (reply.recipient !== undefined) {
    const quoted = ownId(reply.recipient);
    return () => quoted;
  }
  const recipients = await indexRecipients(deps, tag);
  return (to) => {
    const recipient = recipients.get(canonicalPhoneNumber(to));
    return recipient === undefined ? undefined : ownId(recipient);
  };
}

/** A sent message without its own quote; its file is not uploaded again. */
export async function readOwnMessage(
  { store, address }: Pick<QuoteDeps, 'store' | 'address'>,
  { tag, part }: { tag: SendTag; part: number },
): Promise<ReadyContent | undefined> {
  const stored = await readContent(store, address, tag);
  const message = stored && contentOfPart(stored.content, part);
  if (message?.kind !== 'media') return message;
  const upload = await readUpload(store, address, message);
  return upload && { ...message, upload };
}

async function contentOf(deps: QuoteDeps, reply: Reply): Promise<ReadyContent | undefined> {
  if (reply.kind === 'own') return readOwnMessage(deps, reply);
  const received = await readReceived(deps.store, deps.address, {
    receivedId: reply.platformId,
    nowMs: systemClock.nowMs(),
  });
  return received && { kind: 'text', text: received.text };
}

async function indexRecipients({ store, address }: QuoteDeps, tag: SendTag): Promise<Map<string, number>> {
  const recipients = await readRecipients(store, address, tag, { from: 0, limit: LIMITS.maxRecipients });
  return new Map(recipients.map(({ to, index }) => [canonicalPhoneNumber(to), index]));
}
