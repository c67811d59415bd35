import type { Quoted, ReadyContent } from '@gateway/contracts/content/message-content';
import { proto } from '../socket/baileys.js';
import { toProto } from './content.js';

/**
 * The message for a content, with the message that it quotes.
 * @param author jid of the writer of the quoted message, in the namespace of this message.
 */
export function toQuotingProto(content: ReadyContent, author: string | undefined): proto.IMessage {
  const message = toProto(content);
  if (!content.quoted) return message;
  // What a person sees is the one field beside the context; each kind of message has room for a quote.
  const shown = Object.entries(message).find(([name, value]) => value && name !== 'messageContextInfo')?.[1];
  Object.assign(shown, { contextInfo: toContextInfo(content.quoted, author) });
  return message;
}

function toContextInfo({ platformId, content }: Quoted, author: string | undefined): proto.IContextInfo {
  const { messageContextInfo: _ofItsOwn, ...quotedMessage } = content ? toProto(content) : { conversation: '' };
  return proto.ContextInfo.create({
    stanzaId: platformId,
    participant: author ?? '',
    quotedMessage,
  });
}
