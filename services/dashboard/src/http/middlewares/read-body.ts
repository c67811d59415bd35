import type { IncomingMessage } from 'node:http';
import express, { type Request, type RequestHandler } from 'express';
import { ConsoleError } from '../console-error.js';
import type { Operation } from '../operation.js';

/** Of those who are not signed in: a name and a password. */
const MAX_STRANGERS_BYTES = 2 * 1024;
const MAX_BYTES = 64 * 1024;
/** Larger ones are read two at a time: such a body takes some eight times its size until the API has it. */
const LARGE_BYTES = 1024 * 1024;
const MAX_LARGE = 2;
const MAX_DEPTH = 32;
/** Members and items in all: four times the longest list of recipients. */
const MAX_ITEMS = 50_000;

/** One per process: reads the bodies of its operations. */
export class BodyReaders {
  #large = 0;

  readerOf({ for: who, maxBodyBytes = MAX_BYTES }: Operation): RequestHandler[] {
    const limit = who === 'unknown' ? MAX_STRANGERS_BYTES : maxBodyBytes;
    // Nothing of ours compresses what it sends.
    const read = express.json({ limit, inflate: false, verify: checkJson });
    return [refuseLonger(limit), ...(limit > LARGE_BYTES ? [this.#takeTurn] : []), read];
  }

  readonly #takeTurn: RequestHandler = (req, res, next) => {
    // Without a length it may become as long as it likes.
    if (lengthOf(req, Number.POSITIVE_INFINITY) <= LARGE_BYTES) return next();
    if (this.#large >= MAX_LARGE) return next(new ConsoleError('unavailable', { resetInSeconds: 2 }));
    this.#large++;
    res.once('close', () => this.#large--);
    next();
  };
}

/** At once: the reader would first wait for all of it. */
function refuseLonger(limit: number): RequestHandler {
  return (req, _res, next) => next(lengthOf(req, 0) > limit ? new ConsoleError('invalid_request') : undefined);
}

function lengthOf(req: Request, unknown: number): number {
  return Number(req.get('content-length') ?? unknown);
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [...Buffer.from('"\\,:')] as [number, number, number, number];
const OPEN = new Set(Buffer.from('[{'));
const CLOSE = new Set(Buffer.from(']}'));

/**
 * What JSON.parse makes of a megabyte of brackets or keys takes a hundred times that, and blocks the process meanwhile: so
 * they are counted first. Throws for too many.
 */
function checkJson(_req: IncomingMessage, _res: unknown, bytes: Buffer, encoding: string): void {
  // In another encoding a character may contain the byte of a quote.
  if (encoding !== 'utf-8') throw new ConsoleError('invalid_request');
  let isInString = false;
  let depth = 0;
  let items = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === COLON) items++;
    else if (OPEN.has(byte)) depth++;
    else if (CLOSE.has(byte)) depth--;
    if (depth > MAX_DEPTH || items > MAX_ITEMS) throw new ConsoleError('invalid_request');
  }
}
