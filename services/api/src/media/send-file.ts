import type { ServerResponse } from 'node:http';
import { WrongMediaError } from '@gateway/media/media-opener';
import { ApiError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { FileAnswer } from '../http/endpoint.js';

const OLD_HTTP = { path: [], message: 'Over HTTP/1.0 an answer that broke off looks whole: use HTTP/1.1' };

/**
 * Writes a file as it comes, no faster than it is read. Its length is not known before its end, so a caller knows an answer
 * that was cut off by the missing last chunk. Throws 400 where there are no chunks.
 */
export async function sendFile(
  res: ServerResponse,
  { status, headers, file, mustBeWhole }: FileAnswer,
  logger: Logger,
): Promise<void> {
  if (res.req.socket.destroyed) return void file.destroy();
  if (mustBeWhole && res.req.httpVersion === '1.0') {
    file.destroy();
    throw new ApiError('invalid_request', { details: [OLD_HTTP] });
  }
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  // A stream of events would never end.
  if (res.req.method === 'HEAD') {
    file.destroy();
    return void res.end();
  }
  await new Promise<void>((resolve) => {
    res.once('close', resolve);
    file.once('error', (error) => {
      res.destroy();
      if (error instanceof WrongMediaError) logger.warn('a file is not the one that its message speaks of', { error });
      else logger.info('an answer was not passed on whole', { error });
    });
    file.pipe(res);
  });
  file.destroy();
}
