import { pipeline, type Readable } from 'node:stream';
import type { InboundContent, InboundMedia, InboundMediaType } from '@gateway/contracts/content/inbound-content';
import type { FileAnswer } from '@gateway/contracts/devices/owner-questions';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { EgressError } from '@gateway/egress/egress-error';
import { streamUrl } from '@gateway/egress/stream-url';
import { ApiError } from '@gateway/runtime/errors';
import { askAndWait } from '@gateway/store/devices/questions/ask-and-wait';
import { keepMediaPath, type ReceivedMessage, readReceived } from '@gateway/store/inbound/received-messages';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';
import { boundPace } from './bound-pace.js';
import { MediaOpener } from './open-media.js';

export type MediaDeps = Pick<ApiDeps, 'store' | 'media' | 'clock' | 'doorbells' | 'waits' | 'stopping'>;
export type MediaCall = Pick<Call<unknown, unknown>, 'signal' | 'logger'>;

/** A message with a file, and where it was received. */
export interface MediaMessage {
  address: DeviceAddress;
  receivedId: string;
  message: ReceivedMessage;
  content: Extract<InboundContent, { media: InboundMedia }>;
}

/** Files of the network have up to 2 GB. */
const MAX_BYTES = 2 * 1024 ** 3 + 1024;
const TIMEOUT_MS = 15 * 60_000;
const PATH = /^\/[^\s\\#]{1,1000}$/;
/** The network's own client names itself so to file servers. */
const ORIGIN = { origin: 'https://web.whatsapp.com' };

/**
 * The file of a message, decrypted, as it comes from the network; it fails instead of ending when it is not the one that the message
 * speaks of. When the network does not have it any more, the account's phone is asked to upload it again.
 *
 * Throws 410 when that does not have it either, or another account is linked now, and 503 when the network or the phone
 * does not answer.
 */
export async function fetchMedia(deps: MediaDeps, call: MediaCall, found: MediaMessage): Promise<Readable> {
  const { type, media } = found.content;
  const body = (await ask(deps, call, media)) ?? (await ask(deps, call, await askPhone(deps, call, found)));
  if (!body) throw new ApiError('media_gone');
  return open(body, { type, media });
}

/** Its errors are those of the last stream. */
function open(body: Readable, { type, media }: { type: InboundMediaType; media: InboundMedia }): Readable {
  const opened = pipeline(body, new MediaOpener(type, media), () => {});
  return boundPace(opened, {
    slowStartMs: LIMITS.bodySlowStartSeconds * 1000,
    bytesPerSecond: LIMITS.minBodyBytesPerSecond,
  });
}

/** `undefined` when the network does not have it (any more). */
async function ask(
  { media: { policy, hostOf } }: MediaDeps,
  { signal, logger }: MediaCall,
  { host, directPath }: Pick<InboundMedia, 'host' | 'directPath'>,
): Promise<Readable | undefined> {
  const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, headers: ORIGIN, signal };
  try {
    const { status, body } = await streamUrl(`https://${hostOf(host)}${directPath}`, policy, limits);
    if (body || status === 404 || status === 410) return body;
    logger.warn('the network did not hand out a file', { status });
  } catch (thrown) {
    if (!(thrown instanceof EgressError)) throw thrown;
    logger.warn('a file of the network was not fetched', { reason: thrown.reason, host: thrown.host });
  }
  throw new ApiError('unavailable', { headers: { 'Retry-After': '30' } });
}

/** Where the account's phone has uploaded it again. */
async function askPhone(deps: MediaDeps, { signal }: MediaCall, found: MediaMessage): Promise<InboundMedia> {
  const { store, clock, waits } = deps;
  const { address, receivedId, message, content } = found;
  const { platformId, jid } = message;
  // The phone of another account knows nothing of it.
  if (!(await readReceived(store, address, { receivedId, nowMs: clock.nowMs() }))) throw new ApiError('media_gone');
  const parts = await askAndWait(deps, address, {
    question: { kind: 'file', platformId, jid, mediaKey: content.media.mediaKey },
    ...{ parts: 1, timeoutMs: waits.contactsMs, signal },
  });
  const answer = JSON.parse(parts.get('0') ?? 'null') as FileAnswer | null;
  if (!answer) throw new ApiError('unavailable', { headers: { 'Retry-After': '30' } });
  const { directPath } = answer;
  if (directPath === null || !PATH.test(directPath)) throw new ApiError('media_gone');
  await keepMediaPath(store, address, { receivedId, directPath });
  return { ...content.media, directPath };
}
