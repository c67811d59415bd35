import { randomBytes } from 'node:crypto';
import type { MessageContent } from '@gateway/contracts/message-content';
import { proto } from './baileys.js';

/** The message as the network knows it: what phones decrypt. */
export function toProto(content: MessageContent): proto.IMessage {
  switch (content.kind) {
    case 'text':
      return proto.Message.create({
        extendedTextMessage: { text: content.text },
        // Lets a phone prove to the network what it received when its user reports a message; clients always send it.
        messageContextInfo: { messageSecret: randomBytes(32) },
      });
  }
}
