import { type BaileysSocket, jidDecode, normalizeMessageContent, type proto, type WAMessage } from './baileys.js';
import type { IncomingMessage } from './session-types.js';

const MAX_ID_CHARACTERS = 100;
const MAX_TEXT_CHARACTERS = 1_000;

/** Reports what people write to the account, each in a conversation of two. */
export function watchMessages(sock: BaileysSocket, onMessage: (message: IncomingMessage) => void): void {
  sock.ev.on('messages.upsert', async ({ messages }) => {
    for (const message of messages) {
      const incoming = await readIncoming(sock, message);
      if (incoming) onMessage(incoming);
    }
  });
}

async function readIncoming(sock: BaileysSocket, { key, message }: WAMessage): Promise<IncomingMessage | undefined> {
  const { id: platformId, remoteJid: jid, remoteJidAlt, fromMe } = key;
  const content = normalizeMessageContent(message);
  if (fromMe || !content || content.protocolMessage || !jid || !platformId) return undefined;
  if (platformId.length > MAX_ID_CHARACTERS) return undefined;
  const phone = phoneOf(jid) ?? phoneOf(remoteJidAlt) ?? (await phoneOfLid(sock, jid));
  return phone === undefined
    ? undefined
    : { platformId, jid, phone, text: textOf(content).slice(0, MAX_TEXT_CHARACTERS) };
}

function phoneOf(jid: string | null | undefined): string | undefined {
  const decoded = jidDecode(jid ?? '');
  return decoded?.server === 's.whatsapp.net' && /^\d{7,15}$/.test(decoded.user) ? decoded.user : undefined;
}

async function phoneOfLid({ signalRepository }: BaileysSocket, jid: string): Promise<string | undefined> {
  if (!jid.endsWith('@lid')) return undefined;
  return phoneOf(await signalRepository.lidMapping.getPNForLID(jid));
}

function textOf(content: proto.IMessage): string {
  const media = content.imageMessage ?? content.videoMessage ?? content.documentMessage;
  return content.conversation ?? content.extendedTextMessage?.text ?? media?.caption ?? '';
}
