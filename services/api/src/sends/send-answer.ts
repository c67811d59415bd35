import type { ServerResponse } from 'node:http';
import type { Answer } from '../http/endpoint.js';

/**
 * Writes the one kind of body this API has. Not `res.json`: that would answer a conditional request with 304 and no
 * body, and spend time on ETags of answers that are never the same twice.
 */
export function sendAnswer(res: ServerResponse, { status, body, headers = {} }: Answer): void {
  // The caller is gone, or was answered already. Not `res.socket`: a response that has to wait for that
  // of an earlier request on the connection has none yet.
  if (res.headersSent || res.req.socket.destroyed) return;
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  const text = JSON.stringify(body);
  // Without it a caller of HTTP/1.0 could not tell a whole answer from one that was cut off.
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}
