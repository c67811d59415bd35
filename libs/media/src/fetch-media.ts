import { pipeline, type Readable } from 'node:stream';
import type { InboundMedia } from '@gateway/contracts/content/inbound-content';
import type { FileAnswer } from '@gateway/contracts/devices/owner-questions';
import { nameOfDevice } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { EgressError } from '@gateway/egress/egress-error';
import { streamUrl } from '@gateway/egress/stream-url';
import { ApiError, toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { readDevice } from '@gateway/store/devices/devices';
import { type AskDeps, askAndWait } from '@gateway/store/devices/questions/ask-and-wait';
import { keepMediaPath, readReceived } from '@gateway/store/inbound/received-messages';
import type { MediaMessage } from './find-media.js';
import { MediaOpener } from './media-opener.js';
import type { MediaSource } from './media-source.js';

export interface MediaDeps extends AskDeps {
  source: MediaSource;
  /** Phones that are being asked, by file: the next who want it wait for the same answer. */
  asked: Map<string, Promise<InboundMedia>>;
  /** `contactsMs`: how long the account's phone may take to answer. */
  waits: AskDeps['waits'] & { contactsMs: number };
  logger: Logger;
}

/** Files of the network have up to 2 GB. */
const MAX_BYTES = 2 * 1024 ** 3 + 1024;
const TIMEOUT_MS = 60_000;
/** Beside what a reader may take who is as slow as is allowed. */
const SPARE_MS = 15 * 60_000;
const PATH = /^\/[^\s\\#]{1,1000}$/;
/** Of a path that has expired its servers say 403: it says until when it holds, and is signed. */
const GONE: readonly number[] = [403, 404, 410];
/** The network's own client names itself so to file servers. */
const ORIGIN = { origin: 'https://web.whatsapp.com' };

/**
 * The file of a message, decrypted, as it comes from the network; it fails instead of ending when it is not the one that the message
 * speaks of. When the network does not have it any more, the account's phone is asked to upload it again. `signal` ends all of it.
 *
 * Throws 410 when that does not have it either, another account is linked now, or the device was removed, 409 while no account is
 * linked, and 503 when the network or the phone does not answer.
 */
export async function fetchMedia(deps: MediaDeps, found: MediaMessage, signal: AbortSignal): Promise<Readable> {
  const { type, media } = found.content;
  const body = (await ask(deps, media, signal)) ?? (await ask(deps, await askPhoneOnce(deps, found, signal), signal));
  if (!body) throw new ApiError('media_gone');
  // Its errors are those of the last stream.
  return pipeline(body, new MediaOpener(type, media), () => {});
}

type Place = Pick<InboundMedia, 'host' | 'directPath' | 'bytes'>;

/** `undefined` when the network does not have it (any more). What one server does not hand out another may. */
async function ask(deps: MediaDeps, media: Place, signal: AbortSignal): Promise<Readable | undefined> {
  const hosts = deps.source.hostsOf(media.host);
  for (const [i, host] of hosts.entries()) {
    const isLast = i === hosts.length - 1;
    const body = await askAt(deps, { ...media, host }, signal).catch((thrown: unknown) => {
      if (isLast || signal.aborted || !(thrown instanceof ApiError)) throw thrown;
      return undefined;
    });
    if (body) return body;
  }
  return undefined;
}

async function askAt(
  { source: { policy }, logger }: MediaDeps,
  media: Place,
  signal: AbortSignal,
): Promise<Readable | undefined> {
  const seconds = Math.min(media.bytes, MAX_BYTES) / LIMITS.minBodyBytesPerSecond;
  const wholeMs = SPARE_MS + seconds * 1000;
  const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, wholeMs, headers: ORIGIN, signal };
  try {
    const { status, body } = await streamUrl(`https://${media.host}${media.directPath}`, policy, limits);
    if (body || GONE.includes(status)) return body;
    throw unavailable(logger, { why: 'the network did not hand out a file', status });
  } catch (thrown) {
    if (!(thrown instanceof EgressError)) throw thrown;
    const { reason, host } = thrown;
    throw unavailable(logger, { why: 'a file of the network was not fetched', reason, host });
  }
}

/** It goes on for the others when one of them has gone. */
function askPhoneOnce(deps: MediaDeps, found: MediaMessage, signal: AbortSignal): Promise<InboundMedia> {
  const { asked } = deps;
  const file = `${nameOfDevice(found.address)} ${found.receivedId}`;
  const answer = asked.get(file) ?? askPhone(deps, found).finally(() => asked.delete(file));
  asked.set(file, answer);
  const gone = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new ApiError('unavailable', { cause: toError(signal.reason) })), {
      once: true,
    });
  });
  return Promise.race([answer, gone]);
}

/** Where the account's phone has uploaded it again. */
async function askPhone(deps: MediaDeps, found: MediaMessage): Promise<InboundMedia> {
  const { store, clock, waits } = deps;
  const { address, receivedId, message, content } = found;
  const { platformId, jid } = message;
  if (!(await readDevice(store, address))) throw new ApiError('media_gone');
  // The phone of another account knows nothing of it.
  if (!(await readReceived(store, address, { receivedId, nowMs: clock.nowMs() }))) throw new ApiError('media_gone');
  // When the same account is linked again, its phone can be asked.
  const { desired } = await readDeviceState(store, address);
  if (desired?.want !== 'linked') throw new ApiError('no_device');
  const parts = await askAndWait(deps, address, {
    question: { kind: 'file', platformId, jid, mediaKey: content.media.mediaKey },
    ...{ parts: 1, timeoutMs: waits.contactsMs, signal: new AbortController().signal },
  });
  const answer = JSON.parse(parts.get('0') ?? 'null') as FileAnswer | null;
  if (!answer) throw unavailable(deps.logger, { why: 'the phone did not answer in time' });
  const { directPath } = answer;
  if (directPath === null || !PATH.test(directPath)) throw new ApiError('media_gone');
  await keepMediaPath(store, address, { receivedId, directPath });
  return { ...content.media, directPath };
}

function unavailable(logger: Logger, fields: { why: string; [name: string]: unknown }): ApiError {
  const { why, ...facts } = fields;
  logger.warn(why, facts);
  return new ApiError('unavailable', { headers: { 'Retry-After': '30' }, fields });
}
