import { INBOUND_LIMITS } from '@gateway/contracts/content/inbound-content';
import { systemClock } from '@gateway/runtime/clock';
import { isOwnPhone } from '../lookup/is-own-phone.js';
import { storedLidOf } from '../lookup/stored-lid.js';
import type { IncomingMessage } from '../session/session-events.js';
import {
  areJidsSameUser,
  type BaileysSocket,
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  jidDecode,
  normalizeMessageContent,
  proto,
  unpadRandomMax16,
} from '../socket/baileys.js';
import { replaceListeners } from '../socket/listeners.js';
import { AbsentMessages } from './absent-messages.js';
import { cutText } from './cut-text.js';
import { isPlatformId, type ReadInbound, readInbound, readTime } from './read-inbound.js';
import { readSecret } from './sealed-edit.js';

export interface HoldMessagesDeps {
  /** The message is confirmed to the network when this resolves. */
  onMessage(message: IncomingMessage): void | Promise<void>;
  /** Called with the error of `onMessage`: the session must end before anything else is sent. */
  onFailed(error: unknown): void;
  /** Aborted when the session ends. */
  signal: AbortSignal;
  /** How long the account's phone may take to say a message again. */
  phoneAnswerMs?: number | undefined;
}

/** Under which people write, and how they are called there: a company whose device is at the network's own servers is still itself. */
const PERSONS: ReadonlyMap<string, string> = new Map([
  ['s.whatsapp.net', 's.whatsapp.net'],
  ['lid', 'lid'],
  ['hosted', 's.whatsapp.net'],
  ['hosted.lid', 'lid'],
]);

/**
 * Hands over what people write to the account, each in a conversation of two, before the library confirms it and before
 * the ratchet has moved on in the key store. A process that dies in between gets the message again at its next login,
 * and can still decrypt it: the ratchet step and the confirmation both come later.
 *
 * The library's own event comes only after all that, up to 20 s late during a backlog.
 *
 * Of what only the phone gets, as a picture that may be seen once, is handed over in its turn that there was something. What is missing
 * for no such reason is asked of the phone (see `AbsentMessages`). Before what takes messages in turn is there.
 */
export function holdMessages(sock: BaileysSocket, deps: HoldMessagesDeps): Pick<AbsentMessages, 'settled' | 'ended'> {
  const { signalRepository, authState } = sock;
  const stanzas = new WeakMap<Uint8Array, BinaryNode>();
  const absent = new AbsentMessages({
    ...{ sock, signal: deps.signal, answerMs: deps.phoneAnswerMs },
    handOver: (stanza, content) => handOver(sock, deps, { stanza, read: content ? readContent(content) : NOT_HERE }),
  });
  sock.ws.prependListener('CB:message', (stanza: BinaryNode) => {
    for (const { content } of getBinaryNodeChildren(stanza, 'enc')) {
      if (content instanceof Uint8Array) stanzas.set(content, stanza);
    }
  });
  replaceListeners(sock, 'CB:message', (library) => async (stanza) => {
    if (hasContent(stanza) || stanza.attrs.edit === TAKEN_BACK || !isFromPerson(sock, stanza.attrs))
      return library(stanza);
    if (!isWithheld(stanza)) return absent.take(stanza, aboutOf(stanza));
    await handOver(sock, deps, { stanza, read: NOT_HERE });
    return library(stanza);
  });
  const decrypt = signalRepository.decryptMessage.bind(signalRepository);
  signalRepository.decryptMessage = (sealed) =>
    // The library's own transaction inside joins this one: its writes wait for the end.
    authState.keys.transaction(async () => {
      const stanza = stanzas.get(sealed.ciphertext);
      const plain = await decrypt(sealed).catch(async (thrown: unknown) => {
        if (stanza && isFromPerson(sock, stanza.attrs)) await absent.failed(stanza, aboutOf(stanza));
        throw thrown;
      });
      if (isOwnPhone(authState.creds.me, sealed.jid)) await takeAnswer(absent, plain);
      else if (stanza) {
        const read = readPlain(plain);
        const changed = changedBy(read);
        if (changed !== undefined) await absent.overtaken(stanza.attrs.from, changed);
        await handOver(sock, deps, { stanza, read });
      }
      return plain;
    }, sealed.jid);
  return absent;
}

interface Arrived {
  stanza: BinaryNode;
  /** `undefined`: it is no message of a person. */
  read: Read | undefined;
}

/** Nothing is known of it but that there was something. */
const NOT_HERE: ReadInbound = { text: '', content: { type: 'unsupported' } };

/** That a message is taken back; the phone keeps nothing of it. */
const TAKEN_BACK = '7';

function hasContent(stanza: BinaryNode): boolean {
  return ['enc', 'plaintext'].some((tag) => getBinaryNodeChild(stanza, tag) !== undefined);
}

/** The network's client for browsers asks the phone for nothing of this kind: it does not give it out. */
function isWithheld(stanza: BinaryNode): boolean {
  const { type = '', hosted } = getBinaryNodeChild(stanza, 'unavailable')?.attrs ?? {};
  return (
    hosted === 'true' || /^view_once|_unavailable_fanout$/.test(type) || getBinaryNodeChild(stanza, 'bot') !== undefined
  );
}

/** Of a message that there are new words for, or none any more. */
function changedBy(read: ReadInbound | undefined): string | undefined {
  const content = read?.content;
  const hasChanged = content?.type === 'deleted' || (content?.type === 'edited' && !content.isSealed);
  return hasChanged ? content.to.platformId : undefined;
}

async function takeAnswer(absent: AbsentMessages, plain: Uint8Array): Promise<void> {
  const response = decode(plain)?.protocolMessage?.peerDataOperationRequestResponseMessage;
  if (response) await absent.answered(response);
}

async function handOver(
  sock: BaileysSocket,
  { onMessage, onFailed }: HoldMessagesDeps,
  arrived: Arrived,
): Promise<void> {
  try {
    const message = await readIncoming(sock, arrived);
    if (message) await onMessage(message);
  } catch (thrown) {
    onFailed(thrown);
    throw thrown;
  }
}

async function readIncoming(sock: BaileysSocket, { stanza, read }: Arrived): Promise<IncomingMessage | undefined> {
  const { attrs } = stanza;
  const { id: platformId, from } = attrs;
  if (!read || !isPlatformId(platformId) || !isFromPerson(sock, attrs)) return undefined;
  const jid = personOf(from);
  const named = phoneOf(jid) ?? phoneOf(attrs.sender_pn ?? attrs.participant_pn);
  const stored = named === undefined ? await phoneOfLid(sock, jid) : undefined;
  const phone = named ?? stored;
  const hiddenId = hiddenIdOf(jid) ?? hiddenIdOf(attrs.sender_lid ?? attrs.participant_lid);
  const storedHiddenId = hiddenId === undefined ? await storedLidOf(sock, '', jid) : undefined;
  const isPhoneStored = stored !== undefined && ({ isPhoneStored: true } as const);
  const writer = {
    jid,
    ...(phone !== undefined && { phone }),
    ...isPhoneStored,
    ...(hiddenId !== undefined && { hiddenId }),
    ...(storedHiddenId !== undefined && { storedHiddenId }),
  };
  const atMs = timeOf(stanza);
  const name = cutText(attrs.notify, INBOUND_LIMITS.maxNameCharacters);
  return { platformId, ...writer, ...(name && { name }), ...read, atMs };
}

function isFromPerson({ user }: BaileysSocket, { from, participant, category }: BinaryNode['attrs']): boolean {
  const isOurs = areJidsSameUser(from, user?.id) || areJidsSameUser(from, user?.lid);
  return !isOurs && participant === undefined && category !== 'peer' && PERSONS.has(jidDecode(from)?.server ?? '');
}

const aboutOf = (stanza: BinaryNode) => ({ writer: personOf(stanza.attrs.from), atMs: timeOf(stanza) });

function timeOf({ attrs }: BinaryNode): number {
  return readTime(attrs.t) ?? systemClock.nowMs();
}

type Read = ReadInbound & { secret?: string };

function readPlain(plain: Uint8Array): Read | undefined {
  const message = decode(plain);
  return message && readContent(message);
}

function readContent(message: proto.IMessage): Read | undefined {
  const content = normalizeMessageContent(message);
  // Messages from other devices of ours are marked as such, under any name.
  const read = content && !content.deviceSentMessage ? readInbound(content) : undefined;
  return read && { ...read, ...readSecret(message) };
}

/** `undefined` for what the library cannot read either: it reports that to the network itself. */
function decode(plain: Uint8Array): proto.IMessage | undefined {
  try {
    return proto.Message.decode(unpadRandomMax16(plain));
  } catch {
    return undefined;
  }
}

function personOf(from: string | undefined): string {
  const { user, server } = jidDecode(from)!;
  return `${user}@${PERSONS.get(server)}`;
}

function phoneOf(jid: string | null | undefined): string | undefined {
  const decoded = jidDecode(jid ?? '');
  return decoded?.server === 's.whatsapp.net' && /^\d{7,15}$/.test(decoded.user) ? decoded.user : undefined;
}

function hiddenIdOf(jid: string | undefined): string | undefined {
  const decoded = jidDecode(jid);
  return decoded?.server === 'lid' && /^\d{1,18}$/.test(decoded.user) ? `${decoded.user}@lid` : undefined;
}

async function phoneOfLid({ signalRepository }: BaileysSocket, jid: string): Promise<string | undefined> {
  if (!jid.endsWith('@lid')) return undefined;
  return phoneOf(await signalRepository.lidMapping.getPNForLID(jid));
}
