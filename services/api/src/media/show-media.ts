import type { DeviceAddress } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { fetchMedia } from '@gateway/media/fetch-media';
import { findMedia, type MediaMessage } from '@gateway/media/find-media';
import { ApiError } from '@gateway/runtime/errors';
import { NO_BODY_BYTES } from '../http/body/no-body.js';
import type { Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { boundPace } from './bound-pace.js';

type NoInput = Record<string, never>;

/** Of a place in the line of a token. */
const TURN_WAIT_MS = 5_000;
const PACE = {
  slowStartMs: LIMITS.bodySlowStartSeconds * 1000,
  bytesPerSecond: LIMITS.minBodyBytesPerSecond,
};

/** `GET /media/:id`: the file that a person sent, from the network. Nothing of it is stored. */
export const showMedia: Endpoint<NoInput, NoInput> = {
  methods: ['get'],
  path: '/media/:id',
  bucket: 'media',
  scope: 'events',
  query: Joi.object<NoInput>({}),
  body: Joi.object<NoInput>({}),
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'showMedia',
    summary: 'Fetch a file that a person sent',
    description:
      'The id is in the event `message.received`, for seven days. The file is fetched from the network for this request, decrypted, and ' +
      'passed on as it comes; the gateway stores nothing of it. If it turns out not to be the one that its message speaks of, the ' +
      'answer ends before its end: an answer that is complete is checked. HTTP/1.0 cannot tell that, and is refused (400). When the network does not have the file any more, after some ' +
      'weeks, the phone of the account is asked to upload it again, which takes up to 20 seconds; without a linked account that cannot be (409). A reader must take 16 kB a second. ' +
      'Answers 404 for files of other devices than that of the token. Safe to repeat.',
    answer: {
      status: 200,
      description: 'The file, as an attachment; its type is what its sender says.',
      body: Joi.object({}),
      isFile: true,
    },
    errors: ['not_found', 'no_device', 'media_gone', 'no_sender'],
  },

  async handle({ params: { id = '' }, workspace, token, signal, logger }, deps) {
    const found = await findMedia(deps.store, workspace, { id, nowMs: deps.clock.nowMs() });
    if (!found || !isSeenBy(token, found.address)) throw new ApiError('not_found');
    // Before there is a stream: one that fails while no one listens to it would end the process.
    const headers = headersOf(found);
    const { turns, source, asked } = deps.media;
    const endTurn = await turns.take(token.keyId, TURN_WAIT_MS, signal);
    if (!endTurn) throw new ApiError('unavailable', { headers: { 'Retry-After': '5' } });
    try {
      const file = boundPace(await fetchMedia({ ...deps, source, asked, logger }, found, signal), PACE);
      file.once('close', endTurn);
      return { status: 200, headers, file, mustBeWhole: true };
    } catch (thrown) {
      endTurn();
      throw thrown;
    }
  },
};

function isSeenBy({ device }: Call<NoInput, NoInput>['token'], address: DeviceAddress): boolean {
  return device === undefined || device === address.device;
}

/** A browser keeps it, and shows nothing of it as a page of ours. */
function headersOf({ content: { media } }: MediaMessage): Record<string, string> {
  const name = media.filename === undefined ? '' : `; filename*=UTF-8''${encodeFilename(media.filename)}`;
  return {
    'Content-Type': media.mimeType,
    'Content-Disposition': `attachment${name}`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
  };
}

/** RFC 8187. Half a character has no form in it. */
function encodeFilename(name: string): string {
  return encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\ufffd')).replace(
    /['()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
