import { MIMEType } from 'node:util';
import { LIMITS } from '@gateway/contracts/limits';
import { PieceCount } from '@gateway/runtime/bytes/piece-count';
import { ApiError } from '@gateway/runtime/errors';
import type { Request, RequestHandler, Response } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import { bodyLength, UNTIL_TOLD } from '../body/body-length.js';
import { BodyReader } from '../body/body-reader.js';
import { BROKEN, brokenBy } from '../body/broken-bodies.js';
import type { Endpoint } from '../endpoint.js';
import { accountOf, endedEarly } from '../request-locals.js';

/**
 * Check 4: the body, read only now that the caller is known and within the limits. Leaves `req.body` parsed, or
 * `undefined` when there is none. Compressed bodies are a 415: they would let a few bytes become many.
 */
export function readBody({ bodies, waits }: BodyDeps, { maxBodyBytes, hasFile }: BodyKind): RequestHandler {
  return async (req, res, next) => {
    const declaredBytes = bodyLength(req);
    if (declaredBytes === 0) return next();
    // No longer a transfer coding: what it is written for is a server that reads it in another way than we do.
    if (/\bidentity\b/i.test(req.get('transfer-encoding') ?? '')) throw refusal('must be valid HTTP');
    if (!isPlain(req) || !isJson(req)) throw new ApiError('unsupported_media_type');
    if (declaredBytes > maxBodyBytes && declaredBytes !== UNTIL_TOLD) throw new ApiError('payload_too_large');
    if (req.get('expect')?.toLowerCase() === '100-continue') res.writeContinue();
    const broken = brokenBy(req);
    if (broken) throw broken;
    const account = accountOf(res, bodies);
    const reader = new BodyReader({ maxBytes: maxBodyBytes, hasFile: hasFile ?? false });
    const pieces = new PieceCount();
    let bytes = 0;
    await receive(req, res, {
      slowStartMs: waits.bodyMs,
      take(chunk) {
        if (pieces.add(chunk.length)) throw refusal('must not come in pieces of a few bytes');
        bytes += chunk.length;
        if (bytes > maxBodyBytes) throw new ApiError('payload_too_large');
        account.take(chunk.length);
        reader.push(chunk);
      },
    });
    req.body = reader.finish();
    next();
  };
}

type BodyDeps = Pick<ApiDeps, 'bodies' | 'waits'>;
type BodyKind = Pick<Endpoint, 'maxBodyBytes' | 'hasFile'>;

const SPEED_CHECK_MS = 1_000;

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
  try {
    const type = new MIMEType(req.get('content-type') ?? '');
    const charset = type.params.get('charset')?.toLowerCase() ?? 'utf-8';
    return type.essence === 'application/json' && (charset === 'utf-8' || charset === 'utf8');
  } catch {
    return false;
  }
}

interface Receiver {
  /** From then on it must have brought `minBodyBytesPerSecond` on average: who trickles holds memory for ever. */
  slowStartMs: number;
  take(chunk: Buffer): void;
}

/** Rejects as soon as it is clear that the body will not be taken. What comes of it after that is kept nowhere. */
function receive(req: Request, res: Response, { slowStartMs, take }: Receiver): Promise<void> {
  const startedAtMs = performance.now();
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const end = (refusal?: unknown) => {
      clearTimeout(timer);
      req.off('data', onData).off('end', end).off('close', onGone).off(BROKEN, end);
      res.off('close', onGone);
      if (refusal === undefined) resolve();
      else reject(refusal);
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      try {
        take(chunk);
      } catch (refusal) {
        end(refusal);
      }
    };
    const onGone = () => end(endedEarly());
    const checkSpeed = () => {
      const elapsedSeconds = (performance.now() - startedAtMs) / 1000;
      if (bytes < elapsedSeconds * LIMITS.minBodyBytesPerSecond) end(new ApiError('request_timeout'));
      else timer = setTimeout(checkSpeed, SPEED_CHECK_MS);
    };
    let timer = setTimeout(checkSpeed, slowStartMs);
    req.on('data', onData).on('end', end).on('close', onGone).on('error', onGone).on(BROKEN, end);
    // A request that was answered as broken or too slow gets no event of its own any more: Node has let go of it.
    res.on('close', onGone);
  });
}
