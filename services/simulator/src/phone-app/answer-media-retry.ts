import { randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import type { LinkedDevice } from '../accounts/linked-device.js';
import { gcmEncrypt, hkdf } from '../crypto/ciphers.js';
import type { FoundMedia } from '../media/open-media.js';
import type { Network } from '../network/network.js';
import { type BinaryNode, childNamed, node, stamp } from '../wire/nodes.js';
import type { PhoneFiles } from './phone-files.js';

const { ResultType } = proto.MediaRetryNotification;

/**
 * A client could not fetch the file of a message and asks its own phone for it. The phone says where the file is now -
 * sealed with the key of the file, so that only who has the message can read it - or that it does not have it any more.
 */
export function answerMediaRetry(network: Network, files: PhoneFiles, device: LinkedDevice, receipt: BinaryNode): void {
  const { id = '' } = receipt.attrs;
  const asked = childNamed(receipt, 'rmr');
  if (!asked) return;
  const author = network.directory.resolve(asked.attrs.participant ?? asked.attrs.jid)?.number ?? '';
  const row = network.phones.known(device.number)?.inbox.find(author, id);
  const found = row && files.pointerOf(row);
  const content = found ? sealed(id, found, files.renew(found)) : node('error', { code: String(ResultType.NOT_FOUND) });
  const attrs = { from: network.directory.jidOf(device.number, 'pn'), type: 'mediaretry', id, t: stamp(network.now()) };
  device.mailbox.post(node('notification', attrs, [content, asked]));
}

function sealed(stanzaId: string, { pointer }: FoundMedia, directPath: string | undefined): BinaryNode {
  const { SUCCESS, NOT_FOUND } = ResultType;
  const answer = directPath ? { stanzaId, directPath, result: SUCCESS } : { stanzaId, result: NOT_FOUND };
  const plain = proto.MediaRetryNotification.encode(answer).finish();
  const key = hkdf(pointer.mediaKey ?? Buffer.alloc(0), 32, { info: 'WhatsApp Media Retry Notification' });
  const iv = randomBytes(12);
  return node('encrypt', {}, [
    node('enc_p', {}, gcmEncrypt(key, iv, plain, Buffer.from(stanzaId))),
    node('enc_iv', {}, iv),
  ]);
}
