import { lookup as resolve } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { LIMITS } from '@gateway/contracts/limits';
import { ApiError, GatewayError, toError } from '@gateway/runtime/errors';
import { Agent, type Dispatcher, request } from 'undici';
import { type AllowedNetworks, isReachable } from './public-address.js';

/** Where a URL of a stranger may lead. */
export interface FetchPolicy {
  ports: readonly number[];
  /** Beside the public internet. */
  networks: AllowedNetworks;
  /** For all of it, redirects included. Default: as the contract promises. */
  timeoutMs?: number;
}

type Headers = Dispatcher.ResponseData['headers'];

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'messaging-gateway' };

/**
 * Fetches a file from a URL that a caller chose, and that must lead nowhere but to the public internet: each hop is
 * checked, and so is each address that a name resolves to, in the very look-up that the connection is made with. Nothing
 * of this depends on the name a second time, so a name that changes its mind gains nothing.
 *
 * Throws 413 past the size limit, and 400 naming the URL for everything else that goes wrong. Its message tells a caller
 * nothing about our network.
 */
export async function fetchFile(url: string, policy: FetchPolicy, signal: AbortSignal): Promise<Buffer> {
  const { timeoutMs = LIMITS.attachmentFetchSeconds * 1000 } = policy;
  const end = endOf(signal, timeoutMs);
  const agent = new Agent({
    connect: { lookup: checkedLookup(policy.networks), timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  try {
    return await follow(new URL(url), policy, { dispatcher: agent, signal: end.signal });
  } catch (thrown) {
    if (signal.aborted) throw new ApiError('unavailable', { cause: toError(thrown) });
    throw thrown instanceof ApiError ? thrown : notFetched(toError(thrown));
  } finally {
    end.forget();
    await agent.destroy();
  }
}

/** Not `AbortSignal.any` with `AbortSignal.timeout`: on Node 20 a garbage collection makes that last for ever. */
function endOf(signal: AbortSignal, timeoutMs: number): { signal: AbortSignal; forget(): void } {
  const end = new AbortController();
  const abort = () => end.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const forget = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  };
  return { signal: end.signal, forget };
}

async function follow(
  start: URL,
  policy: FetchPolicy,
  options: { dispatcher: Agent; signal: AbortSignal },
): Promise<Buffer> {
  let url = start;
  for (let redirects = 0; redirects <= LIMITS.maxAttachmentRedirects; redirects++) {
    assertAllowed(url, policy);
    const response = await request(url, { ...options, method: 'GET', headers: HEADERS });
    const { location } = response.headers;
    if (!REDIRECTS.has(response.statusCode) || typeof location !== 'string') return readFile(response);
    response.body.on('error', () => {}).destroy();
    url = new URL(location, url);
  }
  throw refused('too many redirects');
}

function assertAllowed(url: URL, { ports, networks }: FetchPolicy): void {
  if (!isPlainHttpUrl(url)) throw refused('not a plain http(s) URL');
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (!ports.includes(port)) throw refused('port');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) && !isReachable(host, networks)) throw refused('address');
}

/** Whether a URL is of a kind that can be fetched, whatever it leads to. */
export function isPlainHttpUrl({ protocol, username, password, hostname }: URL): boolean {
  return (protocol === 'http:' || protocol === 'https:') && !username && !password && hostname !== '';
}

/** Resolves names as ever, and fails unless all their addresses may be reached. */
function checkedLookup(networks: AllowedNetworks): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '');
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isReachable(address, networks))) {
        return callback(refused('address'), '');
      }
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

async function readFile({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Buffer> {
  try {
    if (statusCode !== 200) throw refused(`status ${statusCode}`);
    if (!isPlain(headers)) throw refused('encoding');
    if (Number(headers['content-length'] ?? 0) > LIMITS.maxAttachmentBytes) throw new ApiError('payload_too_large');
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > LIMITS.maxAttachmentBytes) throw new ApiError('payload_too_large');
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  } catch (error) {
    body.on('error', () => {}).destroy();
    throw error;
  }
}

/** Not packed, neither for its whole way nor from hop to hop: a few bytes must not become many. */
function isPlain({ 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' }: Headers) {
  return String(encoding).toLowerCase() === 'identity' && String(transfer).toLowerCase() === 'chunked';
}

function refused(why: string): GatewayError {
  return new GatewayError({ code: 'url_refused', message: 'the URL of an attachment was refused', fields: { why } });
}

function notFetched(cause: Error): ApiError {
  const details = [{ path: ['attachment', 'url'], message: 'could not be fetched' }];
  return new ApiError('invalid_request', { details, cause });
}
