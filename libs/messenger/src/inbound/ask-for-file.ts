import { within } from '../session/within.js';
import {
  type BaileysSocket,
  type BinaryNode,
  decodeMediaRetryNode,
  decryptMediaRetryData,
  encryptMediaRetryRequest,
  proto,
} from '../socket/baileys.js';

/** A file that a person sent. */
export interface LostFile {
  /** Of its message. */
  platformId: string;
  /** Of its writer. */
  jid: string;
  /** Base64. */
  mediaKey: string;
}

const TIMEOUT_MS = 15_000;
const ANSWER = 'CB:notification,type:mediaretry';
const { SUCCESS } = proto.MediaRetryNotification.ResultType;

/**
 * Asks the account's phone to upload a file again that the network does not have any more. Answers where it is then;
 * `undefined` if the phone does not have it either. Rejects when the phone does not answer in time, as one that is switched
 * off, and when the session ends.
 */
export async function askForFile(
  { sock, signal }: { sock: BaileysSocket; signal: AbortSignal },
  { platformId: id, jid: remoteJid, mediaKey }: LostFile,
): Promise<string | undefined> {
  const key = Buffer.from(mediaKey, 'base64');
  let stop = () => {};
  const answer = new Promise<string | undefined>((resolve) => {
    const look = (node: BinaryNode) => {
      const found = node.attrs.id === id && readAnswer(node, { id, key });
      if (found) resolve(found.directPath);
    };
    sock.ws.on(ANSWER, look);
    stop = () => sock.ws.off(ANSWER, look);
  });
  try {
    await sock.sendNode(await encryptMediaRetryRequest({ id, remoteJid, fromMe: false }, key, sock.user!.id));
    return await within({ timeoutMs: TIMEOUT_MS, what: 'file of a message', signal }, answer);
  } finally {
    stop();
  }
}

type Answer = { directPath: string | undefined };

/** `undefined`: it is for another file, that of another person's message under the same id. What is not sealed says that there is no file. */
function readAnswer(node: BinaryNode, { id, key }: { id: string; key: Buffer }): Answer | undefined {
  const media = readSealed(node);
  if (!media) return { directPath: undefined };
  try {
    const { result, directPath } = decryptMediaRetryData(media, key, id) as proto.MediaRetryNotification;
    return { directPath: result === SUCCESS ? (directPath ?? undefined) : undefined };
  } catch {
    return undefined;
  }
}

/** `undefined` also where nothing in it is as it should be. */
function readSealed(node: BinaryNode) {
  try {
    return decodeMediaRetryNode(node).media;
  } catch {
    return undefined;
  }
}
