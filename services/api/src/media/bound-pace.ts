import { type Readable, Transform } from 'node:stream';

const CHECK_MS = 1_000;

/**
 * The same stream, which fails when it is slower than `bytesPerSecond` on average, from `slowStartMs` on: a slow source, and
 * a slow reader, hold a connection at both ends.
 */
export function boundPace(
  source: Readable,
  {
    slowStartMs,
    bytesPerSecond,
    checkMs = CHECK_MS,
  }: { slowStartMs: number; bytesPerSecond: number; checkMs?: number },
): Readable {
  const startedAt = performance.now();
  let bytes = 0;
  const counted = new Transform({
    transform(piece: Buffer, _, done) {
      bytes += piece.length;
      done(null, piece);
    },
  });
  const check = setInterval(() => {
    const tookMs = performance.now() - startedAt;
    if (tookMs > slowStartMs && bytes < (tookMs / 1000) * bytesPerSecond) counted.destroy(new Error('it is too slow'));
  }, checkMs);
  counted.once('close', () => {
    clearInterval(check);
    source.destroy();
  });
  source.once('error', (error) => counted.destroy(error));
  return source.pipe(counted);
}
