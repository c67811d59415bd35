import { MIMEType } from 'node:util';
import { LIMITS } from '@gateway/contracts/limits';
import { PieceCount } from '@gateway/runtime/bytes/piece-count';
import { ApiError } from '@gateway/runtime/errors';
import { StartSlices } from '@gateway/runtime/http/start-slices';
import type { Request, Response } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import { SMALL_BODY_BYTES } from '../body/body-budget.js';
import { bodyLength, UNTIL_TOLD } from '../body/body-length.js';
import { BodyReader } from '../body/body-reader.js';
import { BROKEN, brokenBy } from '../body/broken-bodies.js';
import { leaveToReader } from '../body/unread-bodies.js';
import type { Endpoint } from '../endpoint.js';
import type { KnownTokens } from '../known-tokens.js';
import { accountOf, endedEarly, inTurn, isOver, localsOf } from '../request-locals.js';
import { checkScope } from './require-scope.js';
import type { Step } from './step.js';

/**
 * Check 4: the body, read only now that the caller is known and within the limits. Leaves `req.body` parsed, or
 * `undefined` when there is none. Compressed bodies are a 415: they would let a few bytes become many. A body may take
 * minutes to come, in which its token may be revoked or lose its scope: then it is refused as if it began now.
 */
export function readBody({ bodies, waits, known }: BodyDeps, endpoint: BodyKind): Step {
  const { maxBodyBytes, hasFile } = endpoint;
  return (req, res) => (bodyLength(req) === 0 ? undefined : readAll(req, res));

  async function readAll(req: Request, res: Response): Promise<void> {
    const declaredBytes = bodyLength(req);
    // No longer a transfer coding: what it is written for is a server that reads it in another way than we do.
    if (/\bidentity\b/i.test(req.get('transfer-encoding') ?? '')) throw refusal('must be valid HTTP');
    if (!isPlain(req) || !isJson(req)) throw new ApiError('unsupported_media_type');
    if (declaredBytes > maxBodyBytes && declaredBytes !== UNTIL_TOLD) throw new ApiError('payload_too_large');
    // HTTP/1.0 knows no answer before the answer.
    if (req.httpVersion === '1.1' && req.get('expect')?.toLowerCase() === '100-continue') res.writeContinue();
    const broken = brokenBy(req);
    if (broken) throw broken;
    if (isOver(res)) throw endedEarly();
    const account = accountOf(res, bodies);
    const reader = new BodyReader({ maxBytes: maxBodyBytes, hasFile: hasFile ?? false });
    account.onEnd(() => reader.free());
    const pieces = new PieceCount();
    let bytes = 0;
    await receive(req, res, {
      slowStartMs: waits.bodyMs,
      take(chunk) {
        if (pieces.add(chunk.length)) throw refusal('must not come in pieces of a few bytes');
        bytes += chunk.length;
        if (bytes > maxBodyBytes) throw new ApiError('payload_too_large');
        account.take(chunk.length);
      },
      read: (chunk) => reader.push(chunk),
    });
    checkScope(await known.findAgain(localsOf(res).token!.keyId), endpoint);
    if (reader.textBytes > SMALL_BODY_BYTES) {
      account.take(reader.textBytes * (PARSED_COST - 1));
      localsOf(res).isLarge = true;
    }
    req.body = await inTurn(res, () => reader.finish());
  }
}

interface BodyDeps extends Pick<ApiDeps, 'bodies' | 'waits'> {
  known: Pick<KnownTokens, 'findAgain'>;
}

type BodyKind = Pick<Endpoint, 'maxBodyBytes' | 'hasFile' | 'scope' | 'ofWorkspace'>;

const SPEED_CHECK_MS = 1_000;
/** Bytes of memory for one of JSON, of which the parser makes a text, and of that what the text says. */
const PARSED_COST = 4;
/** Of what comes on a hundred connections at once, each has a piece read in its turn: together they are megabytes. */
const READS = new StartSlices();

function refusal(message: string): ApiError {
  return new ApiError('invalid_request', { details: [{ path: [], message }] });
}

/** Not packed, neither for its whole way nor from hop to hop. */
function isPlain(req: Request): boolean {
  const encoding = req.get('content-encoding') ?? 'identity';
  const transfer = req.get('transfer-encoding') ?? 'chunked';
  return encoding.toLowerCase() === 'identity' && transfer.toLowerCase() === 'chunked';
}

function isJson(req: Request): boolean {
  const written = req.headers['content-type'] ?? '';
  if (written === 'application/json') return true;
  try {
    const type = new MIMEType(written);
    const charset = type.params.get('charset')?.toLowerCase() ?? 'utf-8';
    return type.essence === 'application/json' && (charset === 'utf-8' || charset === 'utf8');
  } catch {
    return false;
  }
}

interface Receiver {
  /** From then on it must have brought `minBodyBytesPerSecond` on average: who trickles holds memory for ever. */
  slowStartMs: number;
  /** Called at once. */
  take(chunk: Buffer): void;
  /** Called with the same when there is time for it; until then no more is let in. */
  read(chunk: Buffer): void;
}

/** Rejects as soon as it is clear that the body will not be taken. What comes of it after that is kept nowhere. */
function receive(req: Request, res: Response, { slowStartMs, take, read }: Receiver): Promise<void> {
  const startedAtMs = performance.now();
  /** In which it was not let in: its pieces waited for their turn here. */
  let pausedMs = 0;
  let bytes = 0;
  return new Promise((resolve, reject) => {
    let hasEnded = false;
    let isReading = false;
    let isWhole = false;
    const end = (refusal?: unknown) => {
      hasEnded = true;
      clearTimeout(timer);
      req.off('data', onData).off('end', onWhole).off('close', onGone).off(BROKEN, end);
      res.off('close', onGone);
      if (refusal === undefined) resolve();
      else reject(refusal);
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      attempt(() => take(chunk));
      if (hasEnded) return;
      isReading = true;
      req.pause();
      const pausedAtMs = performance.now();
      READS.run(localsOf(res).token!.keyId, () => {
        isReading = false;
        pausedMs += performance.now() - pausedAtMs;
        if (!hasEnded) attempt(() => read(chunk));
        if (hasEnded) return;
        if (isWhole) end();
        else req.resume();
      });
    };
    // Of a body that was there already it is heard with the last piece, though that was to pause it; and so is the close.
    const onWhole = () => {
      isWhole = true;
      if (!isReading) end();
    };
    const attempt = (step: () => void) => {
      try {
        step();
      } catch (refusal) {
        end(refusal);
      }
    };
    const onGone = () => {
      if (!isWhole) end(endedEarly());
    };
    const isTooSlow = () => {
      const givenSeconds = (performance.now() - startedAtMs - pausedMs) / 1000;
      return !isReading && bytes < givenSeconds * LIMITS.minBodyBytesPerSecond;
    };
    const checkSpeed = () => {
      if (hasEnded) return;
      if (!isTooSlow()) timer = setTimeout(checkSpeed, SPEED_CHECK_MS);
      // Of a turn that was long what came meanwhile is heard before the next one.
      else setImmediate(() => (isTooSlow() ? end(new ApiError('request_timeout')) : checkSpeed()));
    };
    let timer = setTimeout(checkSpeed, slowStartMs);
    leaveToReader(req);
    req.on('data', onData).on('end', onWhole).on('close', onGone).on('error', onGone).on(BROKEN, end);
    // A request that was answered as broken or too slow gets no event of its own any more: Node has let go of it.
    res.on('close', onGone);
  });
}
