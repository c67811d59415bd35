import { toError } from '@gateway/runtime/errors';
import type { Dispatcher } from 'undici';
import { type CheckedClient, openClient } from './connections/checked-client.js';
import type { Keeper, KeptConnection, KeptConnections } from './connections/kept-connections.js';
import { EgressError, nameFailure } from './egress-error.js';
import { assertAllowed, type FetchPolicy } from './fetch-policy.js';
import { endOf } from './request-end.js';
import { Surroundings } from './surroundings.js';

export interface PostRequest {
  body: Buffer;
  headers: Readonly<Record<string, string>>;
  /** For all of it: the name, the connection, and the head of the answer. Not for waiting until another request has shown that its server is there. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Without it the connection is its own. */
  keep?: { connections: KeptConnections; keeper: Keeper };
}

export interface PostAnswer {
  status: number;
  /** As the header says it; several where it came more than once. */
  retryAfter: string | string[] | undefined;
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
  return inTime(url, request, (timed) => post(url, policy, timed, request.signal));
}

async function inTime<Answer>(
  url: URL,
  request: PostRequest,
  post: (timed: PostRequest) => Promise<Answer>,
): Promise<Answer> {
  const end = endOf(request.signal, request.timeoutMs);
  try {
    return await post({ ...request, signal: end.signal });
  } catch (thrown) {
    throw nameFailure(toError(thrown), url, end.signal);
  } finally {
    end.forget();
  }
}

/** @param stopping the signal of the caller, without the time limit of `request`. */
async function post(url: URL, policy: FetchPolicy, request: PostRequest, stopping: AbortSignal): Promise<PostAnswer> {
  assertAllowed(url, policy);
  const { keep, signal, timeoutMs } = request;
  if (keep) return postKept(url, { policy, ...keep }, request, stopping);
  const opened = openClient(url, { policy, surroundings: new Surroundings(url), signal, timeoutMs });
  try {
    return (await postOn(opened, url, request)).answer;
  } finally {
    await opened.close();
  }
}

type Keeping = NonNullable<PostRequest['keep']> & { policy: FetchPolicy };

async function postKept(url: URL, keeping: Keeping, request: PostRequest, stopping: AbortSignal): Promise<PostAnswer> {
  const { connections, policy, keeper } = keeping;
  const kept = connections.take(url, { policy, keeper });
  const answer = kept && (await postAgainOn(kept, url, { keeping, request }));
  if (answer) return answer;
  const postAnew = (timed = request) => {
    const opened = connections.open(url, { policy, keeper, signal: timed.signal, timeoutMs: timed.timeoutMs });
    return postAndKeep(opened, url, { keeping, request: timed });
  };
  if (!kept) return postAnew();
  // For its answer the server has as long as for any other.
  const postAfterFirst = () => inTime(url, { ...request, signal: stopping }, postAnew);
  return connections.oneFirst(keeper, { post: postAnew, postAfterFirst });
}

interface Posting {
  keeping: Keeping;
  request: PostRequest;
}

/**
 * `undefined`: the server had ended the connection before, so nothing is known of the endpoint, and the same is posted at once on
 * another one, unless that has failed just now with another request to it. With any byte of an answer, or at the end of its time, the request has failed.
 */
async function postAgainOn(kept: KeptConnection, url: URL, posting: Posting): Promise<PostAnswer | undefined> {
  const before = kept.bytesRead();
  try {
    return await postAndKeep(kept, url, posting);
  } catch (thrown) {
    const failure = nameFailure(toError(thrown), url, posting.request.signal);
    const hadEnded = failure instanceof EgressError && failure.reason === 'connection' && kept.bytesRead() === before;
    if (hadEnded) return undefined;
    throw failure;
  }
}

/** After anything but a plain success the next attempt looks for the server anew. */
async function postAndKeep(
  connection: KeptConnection,
  url: URL,
  { keeping: { connections, keeper }, request }: Posting,
): Promise<PostAnswer> {
  let isKept = false;
  try {
    const { answer, isPlain } = await postOn(connection, url, request);
    isKept = isPlain && answer.status >= 200 && answer.status < 300;
    return answer;
  } finally {
    if (isKept) connections.keep(connection);
    else {
      connections.end(keeper.name);
      await connection.close();
    }
  }
}

/** `isPlain`: nothing of the answer was cut off or is still to come, and it was not packed. */
async function postOn(
  { client }: CheckedClient,
  url: URL,
  { headers, body, timeoutMs, signal }: PostRequest,
): Promise<{ answer: PostAnswer; isPlain: boolean }> {
  const path = `${url.pathname}${url.search}`;
  const limits = { signal, headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
  const response = await client.request({ path, ...limits, method: 'POST', headers: { ...headers, ...HEADERS }, body });
  const { 'retry-after': retryAfter, 'content-encoding': encoding = 'identity' } = response.headers;
  const { excerpt, isWhole } = await readExcerpt(response.body);
  const answer = { status: response.statusCode, retryAfter, excerpt };
  return { answer, isPlain: isWhole && encoding === 'identity' && !hasForbiddenBody(response) };
}

/** It would be read as the answer to the next request. */
function hasForbiddenBody({ statusCode, headers }: Dispatcher.ResponseData): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': packing } = headers;
  return statusCode === 204 && (length !== '0' || packing !== undefined);
}

/** Until its end, or its failure, or enough of it. */
function readExcerpt(body: Dispatcher.ResponseData['body']): Promise<{ excerpt: Buffer; isWhole: boolean }> {
  return new Promise((resolve) => {
    let excerpt = Buffer.alloc(0);
    let bytes = 0;
    const finish = (isWhole = false) => {
      clearTimeout(timer);
      resolve({ excerpt, isWhole });
    };
    const timer = setTimeout(finish, MAX_BODY_MS);
    // Also after the end: the connection is cut while it may still be read.
    body.on('error', () => finish()).once('end', () => finish(true));
    body.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (excerpt.length < EXCERPT_BYTES) {
        excerpt = Buffer.concat([excerpt, piece.subarray(0, EXCERPT_BYTES - excerpt.length)]);
      }
      if (bytes >= MAX_BODY_BYTES) finish();
    });
  });
}
