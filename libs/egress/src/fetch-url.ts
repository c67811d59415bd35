import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { CollectedBytes } from '@gateway/runtime/bytes/collected-bytes';
import { PieceCount } from '@gateway/runtime/bytes/piece-count';
import { GatewayError, toError } from '@gateway/runtime/errors';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { type AddressRules, judgeAddress } from './address-rules.js';
import { EgressError } from './egress-error.js';
import { type NameOptions, resolveName } from './resolve-name.js';
import { SlicedSocket } from './sliced-socket.js';
import { Surroundings } from './surroundings.js';

/** Where a URL of a stranger may lead. */
export interface FetchPolicy {
  ports: readonly number[];
  addresses: AddressRules;
  names?: NameOptions;
}

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
/** Names and values: as Node has it. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Of a name. */
const MAX_ADDRESSES = 32;
const ATTEMPTS_OF_FAMILY = 4;
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
  const { timeoutMs } = limits;
  const open = buildConnector({ lookup: checkedLookup(policy, signal), timeout: timeoutMs });
  let connection: SlicedSocket | undefined;
  const client = new Client(url.origin, {
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: (options, callback) =>
      open({ ...options, protocol: 'http:', port: portOf(url) }, (...[error, socket]) => {
        if (error) return callback(error, null);
        const sliced = new SlicedSocket(socket, (bytes) => surroundings.came(bytes));
        connection = sliced;
        // A Duplex is all that is needed, though the types ask for more.
        const transport = sliced as Duplex as Socket;
        if (url.protocol === 'http:') return callback(null, transport);
        // Slices of what is encrypted: one turn may bring thousands of records, each with a byte of the file.
        const secured = open({ ...options, httpSocket: transport }, callback) as unknown as Socket;
        sliced.on('error', (failure) => secured.destroy(failure));
      }),
  });
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
    connection?.destroy();
    await client.destroy();
  }
}

function assertAllowed(url: URL, { ports, addresses }: FetchPolicy): void {
  if (!isPlainHttpUrl(url)) throw new EgressError('scheme', url.hostname);
  if (!ports.includes(Number(portOf(url)))) throw new EgressError('port', url.hostname);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host)) assertReachable([host], addresses, url.hostname);
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

/** Whether a URL is of a kind that can be fetched, whatever it leads to. */
export function isPlainHttpUrl({ protocol, username, password, hostname }: URL): boolean {
  return (protocol === 'http:' || protocol === 'https:') && !username && !password && hostname !== '';
}

/** One address that may not be reached is enough: such a name is a trap. */
function assertReachable(found: readonly string[], rules: AddressRules, host: string): void {
  const verdicts = found.map((address) => judgeAddress(address, rules));
  if (verdicts.includes('denied')) throw new EgressError('denied_network', host);
  if (verdicts.includes('special')) throw new EgressError('address', host);
}

/** Fails unless all addresses of a name may be reached, and they are no more than a real name has. */
function checkedLookup({ addresses: rules, names }: FetchPolicy, signal: AbortSignal): LookupFunction {
  return (hostname, options, callback) => {
    resolveName(hostname, signal, names)
      .catch((thrown) => {
        throw new EgressError(signal.aborted ? 'too_slow' : 'name', hostname, toError(thrown));
      })
      .then((addresses) => {
        if (addresses.length > MAX_ADDRESSES) throw new EgressError('name', hostname);
        assertReachable(
          addresses.map(({ address }) => address),
          rules,
          hostname,
        );
        const [first] = addresses;
        if (options.all) callback(null, firstOfEach(addresses));
        else callback(null, first!.address, first!.family);
      })
      .catch((error: Error) => callback(error, ''));
  };
}

/** The first that answers is used, so each of those that do not costs a connection to wherever the name says. */
function firstOfEach(addresses: readonly LookupAddress[]): LookupAddress[] {
  const ofFamily = (wanted: number) => addresses.filter(({ family }) => family === wanted);
  return [4, 6].flatMap((family) => ofFamily(family).slice(0, ATTEMPTS_OF_FAMILY));
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

function nameFailure(error: Error, { hostname }: URL, signal: AbortSignal): Error {
  if (error instanceof GatewayError) return error;
  // Its own limits of time are the same as ours, and may be noticed first.
  const isSlow = signal.aborted || /_TIMEOUT$/.test(String((error as NodeJS.ErrnoException).code));
  return new EgressError(isSlow ? 'too_slow' : 'connection', hostname, error);
}
