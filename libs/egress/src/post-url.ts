import { toError } from '@gateway/runtime/errors';
import type { Dispatcher } from 'undici';
import { openClient } from './checked-client.js';
import { EgressError, nameFailure } from './egress-error.js';
import { assertAllowed, type FetchPolicy } from './fetch-policy.js';
import { endOf } from './request-end.js';
import { Surroundings } from './surroundings.js';

export interface PostRequest {
  body: Buffer;
  headers: Readonly<Record<string, string>>;
  /** For all of it: the name, the connection, and the head of the answer. */
  timeoutMs: number;
  signal: AbortSignal;
}

export interface PostAnswer {
  status: number;
  /** As the header says it. */
  retryAfter: string | undefined;
  /** The first bytes of its body, as they came. */
  excerpt: Buffer;
}

const HEADERS = { 'accept-encoding': 'identity', 'user-agent': 'messaging-gateway' };
/** Of an answer. Then the connection is ended: nothing that it says further is of use. */
const MAX_BODY_BYTES = 4 * 1024;
const EXCERPT_BYTES = 256;
/** The answer is known by its head: a body that drips holds up the next request by this at most. */
const MAX_BODY_MS = 500;

/**
 * Posts to a URL that a stranger chose, under the rules of `fetchUrl`. A redirect is an answer like any other, and is not
 * followed; a packed answer is not unpacked. An answer counts from its head on, so a body that breaks off changes nothing.
 *
 * Throws `EgressError` when there was no answer, with the reason. `signal` ends it with the reason `too_slow`.
 */
export async function postUrl(address: string, policy: FetchPolicy, request: PostRequest): Promise<PostAnswer> {
  if (!URL.canParse(address)) throw new EgressError('scheme', '');
  const url = new URL(address);
  const end = endOf(request.signal, request.timeoutMs);
  try {
    return await post(url, policy, { ...request, signal: end.signal });
  } catch (thrown) {
    throw nameFailure(toError(thrown), url, end.signal);
  } finally {
    end.forget();
  }
}

async function post(
  url: URL,
  policy: FetchPolicy,
  { body, headers, timeoutMs, signal }: PostRequest,
): Promise<PostAnswer> {
  assertAllowed(url, policy);
  const surroundings = new Surroundings(url);
  const { client, close } = openClient(url, { policy, surroundings, signal, timeoutMs });
  try {
    const path = `${url.pathname}${url.search}`;
    const response = await client.request({ path, signal, method: 'POST', headers: { ...headers, ...HEADERS }, body });
    const retryAfter = response.headers['retry-after'];
    return {
      status: response.statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      excerpt: await readExcerpt(response.body),
    };
  } finally {
    await close();
  }
}

/** Until its end, or its failure, or enough of it. */
function readExcerpt(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  return new Promise((resolve) => {
    let excerpt = Buffer.alloc(0);
    let bytes = 0;
    const finish = () => {
      clearTimeout(timer);
      resolve(excerpt);
    };
    const timer = setTimeout(finish, MAX_BODY_MS);
    // Also after the end: the connection is cut while it may still be read.
    body.on('error', finish).once('end', finish);
    body.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (excerpt.length < EXCERPT_BYTES) {
        excerpt = Buffer.concat([excerpt, piece.subarray(0, EXCERPT_BYTES - excerpt.length)]);
      }
      if (bytes >= MAX_BODY_BYTES) finish();
    });
  });
}
