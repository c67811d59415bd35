import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { InlineFile } from '@gateway/api/attachments/inline-file';
import { BodyReader } from '@gateway/api/http/body/body-reader';
import { LIMITS } from '@gateway/contracts/limits';
import type { ApiError } from '@gateway/runtime/errors';
import { expect } from 'chai';
import fc from 'fast-check';

const MEGABYTE = 1024 * 1024;
const MAX_BYTES = 16 * MEGABYTE;

/** What becomes of a body that comes in these pieces. Files are shown as the text that they came as. */
function read(pieces: Iterable<string | Buffer>, { hasFile = true } = {}): unknown {
  const reader = new BodyReader({ maxBytes: MAX_BYTES, hasFile });
  for (const piece of pieces) reader.push(Buffer.from(piece as string));
  return JSON.parse(JSON.stringify(reader.finish()), (_, value) => value);
}

/** Status and message of the refusal, and after how many bytes it came. */
function refusal(pieces: Iterable<string | Buffer>): { status: number; message: string | undefined; bytes: number } {
  const reader = new BodyReader({ maxBytes: MAX_BYTES, hasFile: true });
  let bytes = 0;
  try {
    for (const piece of pieces) {
      bytes += piece.length;
      reader.push(Buffer.from(piece as string));
    }
    reader.finish();
  } catch (thrown) {
    const { status, details } = thrown as ApiError;
    return { status, message: details?.[0]?.message, bytes };
  }
  throw new Error('it was taken');
}

function* repeat(piece: string, times: number, before = ''): Generator<string> {
  yield before;
  const block = piece.repeat(Math.ceil(4_096 / piece.length));
  for (let i = 0; i < times; i += block.length / piece.length) yield block;
}

function split(text: string | Buffer, sizes: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text as string);
  const pieces: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

function fileOf(written: string, sizes = [3]): Buffer | undefined {
  const reader = new BodyReader({ maxBytes: MAX_BYTES, hasFile: true });
  for (const piece of split(written, sizes)) reader.push(piece);
  const { attachment } = reader.finish() as { attachment: { base64: InlineFile } };
  expect(attachment.base64).to.be.instanceOf(InlineFile);
  return attachment.base64.bytes;
}
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const heldBytes = () => {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
const withFile = (base64: string) => `{"attachment":{"type":"document","base64":"${base64}"}}`;

describe('a body that is read while it arrives', () => {
  it('is what JSON.parse makes of it, whatever pieces it comes in', () => {
    const name = fc.oneof(fc.constantFrom('attachment', 'base64', '__proto__', 'to'), fc.string({ unit: 'binary' }));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small', maxDepth: 5 }, fc.jsonValue({ maxDepth: 1 }), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 5 }),
      object: fc.array(fc.tuple(name, tie('value')), { maxLength: 5 }).map((fields) => Object.fromEntries(fields)),
    }));
    const spaces = fc.constantFrom(undefined, 1, '\t');
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(value, spaces, sizes, (json, space, pieces) => {
        const text = JSON.stringify(json, undefined, space);
        expect(read(split(text, pieces), { hasFile: false })).to.deep.equal(JSON.parse(text));
      }),
      { numRuns: 200 },
    );
  });

  it('gives back the file that was put into it, however its base64 is written', () => {
    const ways = [
      (text: string) => text,
      (text: string) => text.replaceAll('/', '\\/'),
      (text: string) => text.replaceAll('+', '\\u002B'),
      (text: string) => [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
    ];
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 400 }),
        fc.constantFrom(...ways),
        sizes,
        (bytes, way, some) => {
          const base64 = Buffer.from(bytes).toString('base64');
          expect(fileOf(withFile(way(base64)), some)?.equals(bytes)).to.equal(true);
        },
      ),
      { numRuns: 150 },
    );
    const large = Buffer.alloc(300_001, 'file');
    for (const size of [1_000, 65_536, 100_003]) {
      for (const way of ways)
        expect(fileOf(withFile(way(large.toString('base64'))), [size])?.equals(large)).to.equal(true);
    }
  });

  it('knows the place of the file by its name, whatever else is called so', () => {
    expect(fileOf('{"attachment":{"base64":"AAAA"}}')).to.have.length(3);
    expect(fileOf('{"atta\\u0063hment":{"\\u0062ase64":"AAAA"}}')).to.have.length(3);
    expect(fileOf('{"attachment":{"base64":5,"base64":"AAAA"}}'), 'the last counts').to.have.length(3);
    for (const other of [
      '{"base64":"AAAA"}',
      '[{"attachment":{"base64":"AAAA"}}]',
      '{"attachment":[{"base64":"AAAA"}]}',
      '{"attachment":["base64","AAAA"]}',
      '{"attachment":{"x":{"base64":"AAAA"}}}',
      '{"x":{"attachment":{"base64":"AAAA"}}}',
      '{"x":"attachment","y":{"base64":"AAAA"}}',
      '{"attachment":{"base64 ":"AAAA","base64":null}}',
    ]) {
      expect(read([other]), other).to.deep.equal(JSON.parse(other));
    }
  });

  it('has a file that is no base64 marked as such', () => {
    const wrong = [
      'A',
      'AAA',
      'A===',
      'AA=A',
      'AAAA=',
      'AA==AAAA',
      'AAA!',
      'AA\\nA',
      'AA A',
      'AAA\\',
      'AAA\\"',
      'AA\u00e9',
      'AA-A',
      'AA_A',
      'AA\\u0141A',
    ];
    for (const base64 of [...wrong, `${'A'.repeat(70_000)}==${'A'.repeat(70_000)}==`, `${'A'.repeat(70_001)}`]) {
      if (base64.endsWith('\\')) continue;
      for (const size of [1, 100_000]) expect(fileOf(withFile(base64), [size]), base64.slice(0, 9)).to.equal(undefined);
    }
  });

  it('is refused when it names the file twice, or takes it back', () => {
    for (const body of [
      '{"attachment":{"base64":"AAAA","base64":"AAAA"}}',
      '{"attachment":{"base64":"AAAA"},"attachment":{"base64":""}}',
      '{"attachment":{"base64":"AAAA"},"attachment":{"url":"http://x"}}',
      '{"attachment":{"base64":"AAAA"},"attachment":null}',
      '{"attachment":{"base64":"AAAA","base64":1}}',
    ]) {
      expect(refusal([body]), body).to.deep.include({ status: 400, message: 'must be given once' });
    }
  });

  it('is refused as soon as it is too deep, has too many entries, or is too long', () => {
    const deep = { status: 400, message: `must not be nested more than ${LIMITS.maxBodyDepth} deep` };
    const many = { status: 400, message: `must not hold more than ${LIMITS.maxBodyEntries} fields and entries` };
    const long = { status: 413, message: undefined };
    const cases: [string, Iterable<string>, object, number][] = [
      ['[', repeat('[', 16e6), deep, 4_096],
      ['{"a":', repeat('{"a":', 3e6), deep, 4_100],
      ['deep inside the file', repeat('[', 16e6, '{"attachment":{"base64":'), deep, 5_000],
      ['[[],[],...]', repeat('[],', 5e6, '['), many, 45_000],
      ['[{},{},...]', repeat('{},', 5e6, '['), many, 45_000],
      ['a million keys', repeat('"k":1,', 2e6, '{'), many, 90_000],
      ['a million small strings', repeat('"a",', 4e6, '['), many, 60_000],
      ['a million numbers', repeat('1,', 8e6, '{"to":['), many, 60_000],
      ['keys in the attachment', repeat('"k":1,', 2e6, '{"attachment":{'), many, 90_000],
      ['a long text', repeat('x', 16e6, '{"text":"'), long, MEGABYTE + 5_000],
      ['a long name', repeat('x', 16e6, '{"'), long, MEGABYTE + 5_000],
      ['a long number', repeat('1', 16e6, '{"to":'), long, MEGABYTE + 5_000],
      ['white space', repeat(' ', 16e6), long, MEGABYTE + 5_000],
      ['backslashes', repeat('\\', 16e6, '"'), long, MEGABYTE + 5_000],
      ['what is no JSON at all', repeat(']x', 8e6), long, MEGABYTE + 5_000],
      ['a file', repeat('A', 16e6, '{"attachment":{"base64":"'), long, 14_100_000],
    ];
    for (const [what, pieces, expected, within] of cases) {
      const { bytes, ...refused } = refusal(pieces);
      expect(refused, what).to.deep.equal(expected);
      expect(bytes, what).to.be.at.most(within);
    }
  });

  it('may be as large as the contract says', () => {
    const to = Array.from({ length: LIMITS.maxRecipients }, (_, i) => `+44 7700 ${900_000 + i}`);
    const file = Buffer.alloc(LIMITS.maxAttachmentBytes);
    const text = '\\ud83d\\ude00'.repeat(LIMITS.maxTextCharacters);
    const body = `{"to":${JSON.stringify(to)},"text":"${text}","attachment":{"type":"document","base64":"${file.toString('base64')}"}}`;
    const reader = new BodyReader({ maxBytes: MAX_BYTES, hasFile: true });
    for (const piece of split(body, [65_536])) reader.push(piece);
    const read = reader.finish() as { to: string[]; text: string; attachment: { base64: InlineFile } };
    expect(read.to).to.deep.equal(to);
    expect(read.text).to.have.length(2 * LIMITS.maxTextCharacters);
    expect(read.attachment.base64.bytes?.equals(file)).to.equal(true);
  });

  it('must be UTF-8 to its last byte', () => {
    const late = Buffer.concat([Buffer.from(`{"text":"${'x'.repeat(500_000)}`), Buffer.of(0xff), Buffer.from('"}')]);
    expect(refusal([late])).to.include({ status: 400, message: 'must be valid JSON in UTF-8' });
    expect(read(split('\ufeff{"text":"\u00e9\ud83d\ude00"}', [1]))).to.deep.equal({ text: '\u00e9\ud83d\ude00' });
  });

  it('holds no more than itself, also in pieces of one byte', () => {
    const before = heldBytes();
    const reader = new BodyReader({ maxBytes: MAX_BYTES, hasFile: true });
    const body = Buffer.from(withFile('A'.repeat(MEGABYTE)));
    for (let at = 0; at < body.length; at++) reader.push(body.subarray(at, at + 1));
    expect(heldBytes() - before).to.be.below(8 * MEGABYTE);
    expect(reader.finish()).to.have.nested.property('attachment.base64');
  });
});
