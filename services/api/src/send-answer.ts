import type { Response } from 'express';

/**
 * Writes the one kind of body this API has. Not `res.json`: that would answer a conditional request with 304 and no
 * body, and spend time on ETags of answers that are never the same twice.
 */
export function sendAnswer(res: Response, status: number, body: Record<string, unknown>): void {
  // Nobody is there any more, or somebody was answered already.
  if (res.headersSent || res.socket?.destroyed !== false) return;
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.end(JSON.stringify(body));
}
