import { MIMEType } from 'node:util';
import { ApiError } from '@gateway/runtime/errors';
import type { Request, RequestHandler, Response } from 'express';
import getRawBody from 'raw-body';
import type { BodyBudget } from '../body-budget.js';

/**
 * Check 4: the body, read only now that the caller is known and within the limits. Leaves `req.body` parsed, or
 * `undefined` when there is none. Compressed bodies are a 415: they would let a few bytes become many.
 */
export function readBody(budget: BodyBudget, maxBodyBytes: number): RequestHandler {
  return async (req, res, next) => {
    const declaredBytes = declaredLength(req);
    if (declaredBytes === 0) return next();
    if (!isPlain(req) || !isJson(req)) throw new ApiError('unsupported_media_type');
    if (declaredBytes > maxBodyBytes && declaredBytes !== UNKNOWN) throw new ApiError('payload_too_large');
    // The parsed body lives as long as the request.
    const refusal = declaredBytes === UNKNOWN ? [countAsItComes(req, res, budget)] : [];
    if (declaredBytes !== UNKNOWN) res.once('close', budget.takeOrRefuse(declaredBytes));
    if (req.get('expect')?.toLowerCase() === '100-continue') res.writeContinue();
    req.body = parseJson(await Promise.race([readBytes(req, declaredBytes, maxBodyBytes), ...refusal]));
    next();
  };
}

/** Of a body whose end the caller will mark. */
const UNKNOWN = Number.POSITIVE_INFINITY;

const GRANT_BYTES = 64 * 1024;

/** Takes room for what has come of a body, not for all that may come. Rejects with 503 when there is none; nothing is read then. */
function countAsItComes(req: Request, res: Response, budget: BodyBudget): Promise<never> {
  const granted: (() => void)[] = [];
  let bytes = 0;
  res.once('close', () => granted.forEach((giveBack) => void giveBack()));
  return new Promise((_resolve, reject) => {
    req.on('data', (piece: Buffer) => {
      bytes += piece.length;
      try {
        while (granted.length * GRANT_BYTES < bytes) granted.push(budget.takeOrRefuse(GRANT_BYTES));
      } catch (error) {
        req.removeAllListeners('data');
        reject(error);
      }
    });
  });
}

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

async function readBytes(req: Request, declaredBytes: number, limit: number): Promise<Buffer> {
  try {
    return await getRawBody(req, { length: declaredBytes === UNKNOWN ? null : declaredBytes, limit });
  } catch (thrown) {
    const { type } = thrown as getRawBody.RawBodyError;
    if (type === 'entity.too.large') throw new ApiError('payload_too_large');
    throw new ApiError('invalid_request', { details: [{ path: [], message: 'the body ended early' }], cause: thrown });
  }
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
