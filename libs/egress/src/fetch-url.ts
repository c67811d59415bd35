import { CollectedBytes } from '@gateway/runtime/bytes/collected-bytes';
import { PieceCount } from '@gateway/runtime/bytes/piece-count';
import { toError } from '@gateway/runtime/errors';
import type { Dispatcher } from 'undici';
import { openClient } from './connections/checked-client.js';
import { EgressError, nameFailure } from './egress-error.js';
import { assertAllowed, type FetchPolicy } from './fetch-policy.js';
import { endOf } from './request-end.js';
import { Surroundings } from './surroundings.js';

export interface FetchLimits {
  maxBytes: number;
  maxRedirects: number;
  /** For all of it: names, redirects and the body. */
  timeoutMs: number;
  /** After so long a body must have brought 16 kB for each second that it took. Default 5 s. */
  patienceMs?: number;
  /** Called with the length of each piece of the body as it comes. What it throws ends the fetch, and is thrown on. */
  onBytes?(bytes: number): void;
}

type Headers = Dispatcher.ResponseData['headers'];

/** One fetch under way. */
interface Fetch {
  policy: FetchPolicy;
  limits: FetchLimits;
  signal: AbortSignal;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'messaging-gateway' };
const PATIENCE_MS = 5_000;
const MIN_BYTES_PER_SECOND = 16 * 1024;
const PACE_CHECK_MS = 250;

/**
 * Fetches a URL that a stranger chose, and that must lead nowhere but to the public internet: each hop is checked, and so
 * is each address that a name resolves to, in the same lookup that the connection uses. Nothing of this depends
 * on the name a second time, so a name that changes its mind gains nothing.
 *
 * Throws `EgressError` with the reason, and what `onBytes` throws. `signal` ends it with the reason `too_slow`.
 */
export async function fetchUrl(
  url: string,
  policy: FetchPolicy,
  { signal, ...limits }: FetchLimits & { signal: AbortSignal },
): Promise<Buffer> {
  const { timeoutMs } = limits;
  if (!URL.canParse(url)) throw new EgressError('scheme', '');
  const end = endOf(signal, timeoutMs);
  try {
    return await follow(new URL(url), { policy, limits, signal: end.signal });
  } finally {
    end.forget();
  }
}

async function follow(start: URL, fetch: Fetch): Promise<Buffer> {
  let url = start;
  for (let redirects = 0; redirects <= fetch.limits.maxRedirects; redirects++) {
    try {
      const answer = await visit(url, fetch);
      if (Buffer.isBuffer(answer)) return answer;
      url = answer;
    } catch (thrown) {
      throw nameFailure(toError(thrown), url, fetch.signal);
    }
  }
  throw new EgressError('redirects', url.hostname);
}

/** The body, or where it is said to be. On a connection of its own: what else comes on it is of no use to anyone. */
async function visit(url: URL, { policy, limits, signal }: Fetch): Promise<Buffer | URL> {
  assertAllowed(url, policy);
  const surroundings = new Surroundings(url);
  const { client, close } = openClient(url, { policy, surroundings, signal, timeoutMs: limits.timeoutMs });
  try {
    const path = `${url.pathname}${url.search}`;
    const response = await client.request({ path, signal, method: 'GET', headers: HEADERS });
    // An answer that ends early and is not read.
    response.body.on('error', () => {});
    const { location } = response.headers;
    if (!REDIRECTS.has(response.statusCode) || typeof location !== 'string')
      return await readBody(url, response, surroundings, limits);
    if (!URL.canParse(location, url.href)) throw new EgressError('scheme', url.hostname);
    return new URL(location, url);
  } finally {
    await close();
  }
}

async function readBody(
  { hostname }: URL,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  surroundings: Surroundings,
  { maxBytes, onBytes, patienceMs = PATIENCE_MS }: FetchLimits,
): Promise<Buffer> {
  if (statusCode !== 200) throw new EgressError('status', hostname);
  if (!isPlain(headers)) throw new EgressError('encoding', hostname);
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new EgressError('too_large', hostname);
  const collected = new CollectedBytes(maxBytes);
  const pieces = new PieceCount();
  const startedAt = performance.now();
  const pace = setInterval(() => {
    const tookMs = performance.now() - startedAt;
    if (tookMs > patienceMs && collected.length < (tookMs / 1000) * MIN_BYTES_PER_SECOND) {
      body.destroy(new EgressError('too_slow', hostname));
    }
  }, PACE_CHECK_MS);
  try {
    await eachPiece(body, (piece) => {
      surroundings.without(piece.length);
      if (pieces.add(piece.length)) throw new EgressError('tiny_pieces', hostname);
      if (collected.length + piece.length > maxBytes) throw new EgressError('too_large', hostname);
      onBytes?.(piece.length);
      collected.push(piece);
    });
  } catch (thrown) {
    collected.free();
    throw thrown;
  } finally {
    clearInterval(pace);
  }
  return collected.toBuffer();
}

/** As they come: an async iterator would put those together that wait. What `take` throws ends the body. */
function eachPiece(body: Dispatcher.ResponseData['body'], take: (piece: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    body.once('end', resolve).once('error', reject);
    body.on('data', (piece: Buffer) => {
      try {
        take(piece);
      } catch (thrown) {
        body.destroy(toError(thrown));
      }
    });
  });
}

/** Not packed, neither for its whole way nor from hop to hop: a few bytes must not become many. */
function isPlain({ 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' }: Headers) {
  return String(encoding).toLowerCase() === 'identity' && String(transfer).toLowerCase() === 'chunked';
}
