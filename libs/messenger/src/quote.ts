import type { Quoted, ReadyContent } from '@gateway/contracts/message-content';
import { jidNormalizedUser, proto } from './baileys.js';
import { toProto } from './content.js';

/** The message of a content, with the one that it answers above it. @param ownJid of the account that sends it. */
export function toQuotingProto(content: ReadyContent, ownJid: string | undefined): proto.IMessage {
  const message = toProto(content);
  if (!content.quoted) return message;
  // What a person sees is the one field beside the context; each kind of message has room for a quote.
  const shown = Object.entries(message).find(([name, value]) => value && name !== 'messageContextInfo')?.[1];
  Object.assign(shown, { contextInfo: toContextInfo(content.quoted, ownJid) });
  return message;
}

function toContextInfo({ platformId, from, content }: Quoted, ownJid: string | undefined): proto.IContextInfo {
  const { messageContextInfo: _ofItsOwn, ...quotedMessage } = content ? toProto(content) : { conversation: '' };
  return proto.ContextInfo.create({
    stanzaId: platformId,
    participant: jidNormalizedUser(from ?? ownJid),
    quotedMessage,
  });
}
