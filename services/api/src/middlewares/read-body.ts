import { MIMEType } from 'node:util';
import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import type { Request, RequestHandler } from 'express';
import type { ApiDeps } from '../api-deps.js';
import type { BodyAccount } from '../body-budget.js';
import { accountOf } from '../request-locals.js';

/**
 * Check 4: the body, read only now that the caller is known and within the limits. Leaves `req.body` parsed, or
 * `undefined` when there is none. Compressed bodies are a 415: they would let a few bytes become many.
 */
export function readBody({ bodies, waits }: Pick<ApiDeps, 'bodies' | 'waits'>, maxBodyBytes: number): RequestHandler {
  return async (req, res, next) => {
    const declaredBytes = declaredLength(req);
    if (declaredBytes === 0) return next();
    if (!isPlain(req) || !isJson(req)) throw new ApiError('unsupported_media_type');
    if (declaredBytes > maxBodyBytes && declaredBytes !== UNKNOWN) throw new ApiError('payload_too_large');
    if (req.get('expect')?.toLowerCase() === '100-continue') res.writeContinue();
    req.body = parseJson(
      await readBytes(req, { account: accountOf(res, bodies), maxBodyBytes, slowStartMs: waits.bodyMs }),
    );
    next();
  };
}

/** Of a body whose end the caller will mark. */
const UNKNOWN = Number.POSITIVE_INFINITY;

const SPEED_CHECK_MS = 1_000;

function declaredLength(req: Request): number {
  if (req.get('transfer-encoding') !== undefined) return UNKNOWN;
  return Number(req.get('content-length') ?? 0);
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

interface BodyBounds {
  account: BodyAccount;
  maxBodyBytes: number;
  /** From then on it must have brought `minBodyBytesPerSecond` on average: who trickles holds memory for ever. */
  slowStartMs: number;
}

/** Rejects as soon as it is clear that the body will not be taken. What comes of it after that is nowhere kept. */
function readBytes(req: Request, { account, maxBodyBytes, slowStartMs }: BodyBounds): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const startedAtMs = performance.now();
  return new Promise<Buffer>((resolve, reject) => {
    const refuse = (error: unknown) => {
      settle();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      try {
        if (bytes > maxBodyBytes) throw new ApiError('payload_too_large');
        account.take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        refuse(error);
      }
    };
    const onEnd = () => {
      settle();
      resolve(Buffer.concat(chunks, bytes));
    };
    const onGone = () => {
      refuse(new ApiError('invalid_request', { details: [{ path: [], message: 'the body ended early' }] }));
    };
    const checkSpeed = () => {
      const elapsedSeconds = (performance.now() - startedAtMs) / 1000;
      if (bytes < elapsedSeconds * LIMITS.minBodyBytesPerSecond) refuse(new ApiError('request_timeout'));
      else timer = setTimeout(checkSpeed, SPEED_CHECK_MS);
    };
    let timer = setTimeout(checkSpeed, slowStartMs);
    const settle = () => {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('close', onGone);
    };
    req
      .on('data', onData)
      .on('end', onEnd)
      .on('close', onGone)
      .on('error', () => {});
  });
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The parser's own message quotes the body.
    throw new ApiError('invalid_request', { details: [{ path: [], message: 'must be valid JSON in UTF-8' }] });
  }
}
