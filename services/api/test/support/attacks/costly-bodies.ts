import { LIMITS } from '@gateway/contracts/limits';

const MAX_BODY_BYTES = 16_000_000;

/** Takes a decoder that reads it minutes. */
export const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9000" height="9000"><filter id="f"><feGaussianBlur stdDeviation="900"/></filter>' +
  `${'<rect width="9000" height="9000" filter="url(#f)"/>'.repeat(500)}</svg>`;

/** Repeats `piece` until the body is as long as one may be. */
function fill(piece: string, before = '', after = ''): Buffer {
  const times = Math.floor((MAX_BODY_BYTES - before.length - after.length) / piece.length);
  return Buffer.from(before + piece.repeat(times) + after);
}

/** A body with a file. */
export const file = (base64: string) =>
  Buffer.from(`{"to":"447700900001","attachment":{"type":"document","base64":"${base64}"}}`);
/** The base64 of a file as large as one may be. */
export const largest = Buffer.alloc(LIMITS.maxAttachmentBytes, 'file').toString('base64');

/** What is sent, and the answer it gets. */
export const BODIES: Record<string, () => [body: Buffer, status: number]> = {
  'sixteen megabytes of [': () => [fill('['), 400],
  'five million empty lists': () => [fill('[],', '[', '[]]'), 400],
  'more than a million names': () => [fill('"k1234567":1,', '{', '"k":1}'), 400],
  'nesting inside the attachment': () => [fill('[', '{"to":"447700900001","attachment":{"base64":'), 400],
  'names inside the attachment': () => [fill('"k1234567":1,', '{"to":"447700900001","attachment":{', '"k":1}}'), 400],
  'a text without end': () => [fill('x', '{"to":"447700900001","text":"', '"}'), 413],
  'a megabyte of wrong numbers': () => [Buffer.from(JSON.stringify({ to: Array(10_000).fill('x'.repeat(95)) })), 400],
  'a megabyte with a byte that is no UTF-8': () => [
    Buffer.from(`{"text":"${'x'.repeat(1_000_000)}\xff"}`, 'latin1'),
    400,
  ],
  'base64 that is none': () => [
    fill('AAA*', '{"to":"447700900001","attachment":{"type":"document","base64":"', '"}}'),
    400,
  ],
  'the largest file': () => [file(largest), 202],
  'a file that is all escapes': () => [file('\\u0041'.repeat(2_600_000)), 202],
};
