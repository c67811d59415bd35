import { Readable } from 'node:stream';
import { PieceCount } from '@gateway/runtime/bytes/piece-count';
import { toError } from '@gateway/runtime/errors';
import { openClient } from './connections/checked-client.js';
import { EgressError, nameFailure } from './egress-error.js';
import { assertAllowed, type FetchPolicy } from './fetch-policy.js';
import { endOf } from './request-end.js';
import { Surroundings } from './surroundings.js';

export interface StreamLimits {
  maxBytes: number;
  /** For the name, the connection and the head, and for each pause in the body. */
  timeoutMs: number;
  /** For all of it, however slow its reader is. */
  wholeMs: number;
  signal: AbortSignal;
  /** Beside those of every request. */
  headers?: Readonly<Record<string, string>>;
}

export interface StreamedAnswer {
  status: number;
  /** Only with status 200. To be read, or destroyed: its connection is open until then. */
  body: Readable | undefined;
}

const HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'messaging-gateway' };

/**
 * Asks for a URL under the rules of `fetchUrl`, and passes its body on as it comes: no faster than it is read, so there is
 * never more of it in memory than the buffers of a connection. A redirect is an answer like any other.
 *
 * Throws `EgressError` when there was no answer; the body fails with one when it does not come whole.
 */
export async function streamUrl(
  address: string,
  policy: FetchPolicy,
  { maxBytes, timeoutMs, wholeMs, headers, signal }: StreamLimits,
): Promise<StreamedAnswer> {
  if (!URL.canParse(address)) throw new EgressError('scheme', '');
  const url = new URL(address);
  const end = endOf(signal, wholeMs);
  const surroundings = new Surroundings(url);
  let close = async () => {};
  const finish = () => {
    end.forget();
    void close();
  };
  try {
    assertAllowed(url, policy);
    const opened = openClient(url, { policy, surroundings, signal: end.signal, timeoutMs });
    close = opened.close;
    const path = `${url.pathname}${url.search}`;
    const request = { path, signal: end.signal, method: 'GET', headers: { ...HEADERS, ...headers } } as const;
    const { statusCode: status, body } = await opened.client.request(request);
    // Its end may come before it is read, or when nothing reads it any more.
    body.on('error', () => {});
    if (status !== 200) {
      finish();
      return { status, body: undefined };
    }
    const failed = (error: Error) => nameFailure(error, url, end.signal);
    return { status, body: whole(body, { url, maxBytes, surroundings, failed, finish }) };
  } catch (thrown) {
    finish();
    throw nameFailure(toError(thrown), url, end.signal);
  }
}

/** The body as long as it keeps to the limits. */
function whole(
  body: Readable,
  {
    url,
    maxBytes,
    surroundings,
    failed,
    finish,
  }: { url: URL; maxBytes: number; surroundings: Surroundings; failed: (error: Error) => Error; finish: () => void },
): Readable {
  const pieces = new PieceCount();
  let bytes = 0;
  const checked = async function* () {
    try {
      for await (const piece of body as AsyncIterable<Buffer>) {
        surroundings.without(piece.length);
        bytes += piece.length;
        if (pieces.add(piece.length)) throw new EgressError('tiny_pieces', url.hostname);
        if (bytes > maxBytes) throw new EgressError('too_large', url.hostname);
        yield piece;
      }
    } catch (thrown) {
      throw failed(toError(thrown));
    }
  };
  // A reader that leaves ends the connection, also while nothing comes.
  return Readable.from(checked(), { objectMode: false }).once('close', finish);
}
