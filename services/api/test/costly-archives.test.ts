import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { sniffFile } from '@gateway/api/attachments/sniff-file';
import { expect } from 'chai';

const MEGABYTE = 1024 * 1024;
/** Of five files. They take ten, and took 250 to 430 when all of an archive was read. */
const MAX_CPU_MS = 100;
const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml';

/** Of fifty runs, or until one is cheap: what else this process does, its collection of garbage above all, may last for many of them. */
async function leastCpuMs(run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 50 && least >= MAX_CPU_MS; i++) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

interface Part {
  name: string;
  content?: Buffer;
  /** Its length is told behind it, as by programs that write as they go. */
  isStreamed?: boolean;
}

function localPart({ name, content = Buffer.alloc(0), isStreamed = false }: Part): { packed: Buffer; head: Buffer } {
  const packed = deflateRawSync(content);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(isStreamed ? 8 : 0, 2);
  fields.writeUInt16LE(8, 4);
  fields.writeUInt32LE(crc32(content), 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(name.length, 22);
  return { packed, head: fields };
}

function makeZip(parts: readonly Part[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const part of parts) {
    const { packed, head } = localPart(part);
    const inFile = Buffer.from(head);
    if (part.isStreamed) inFile.fill(0, 10, 22);
    const descriptor = Buffer.concat([Buffer.from('PK\x07\x08', 'latin1'), head.subarray(10, 22)]);
    const name = Buffer.from(part.name);
    const file = [Buffer.from('PK\x03\x04', 'latin1'), inFile, name, packed, ...(part.isStreamed ? [descriptor] : [])];
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), head, place, name);
    files.push(...file);
    at += Buffer.concat(file).length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, index, end]);
}

const typeOf = async (bytes: Buffer) => {
  const sniffed = await sniffFile(bytes, { type: 'document' });
  return sniffed.kind === 'ok' ? sniffed.mimeType : sniffed.message;
};
const contentTypes = (mimeType: string) => ({
  name: '[Content_Types].xml',
  content: Buffer.from(`<Types><Override PartName="/word/document.xml" ContentType="${mimeType}.main+xml"/></Types>`),
});

/** An entry whose length is told behind it, and never is. */
const endless = (bytes: number) =>
  Buffer.concat([
    Buffer.from('PK\x03\x04\x14\x00\x08\x00', 'latin1'),
    Buffer.alloc(18),
    Buffer.from([1, 0, 0, 0, 97]),
    Buffer.alloc(bytes),
  ]);
const marked = (bytes: Buffer) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf]), bytes]);
const tagged = (bytes: Buffer) => Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'), bytes]);

const COSTLY: Record<string, Buffer> = {
  'a gzip of a ZIP of zeros': gzipSync(endless(15 * MEGABYTE)),
  'a ZIP whose entry does not end': endless(MEGABYTE),
  'one behind marks of byte order': marked(endless(MEGABYTE)),
  'one behind as many marks as are skipped': Buffer.concat([Buffer.alloc(768, '\ufeff'), endless(MEGABYTE)]),
  'one behind tags of a sound file': tagged(endless(MEGABYTE)),
  'one behind tags and marks': tagged(marked(endless(MEGABYTE))),
  'an archive of 20,000 names': makeZip(Array.from({ length: 20_000 }, () => ({ name: 'word/x' }))),
  'a list of types that is a megabyte': makeZip([{ name: '[Content_Types].xml', content: Buffer.alloc(MEGABYTE) }]),
};

describe('archives of strangers', () => {
  for (const [what, bytes] of Object.entries(COSTLY)) {
    it(`cost next to nothing to recognise: ${what}`, async () => {
      const read = async () => {
        for (let i = 0; i < 5; i++) expect(await typeOf(bytes)).to.match(/^application\/(gzip|zip)$/);
      };
      expect(await leastCpuMs(read)).to.be.below(MAX_CPU_MS);
    });
  }

  it('are not looked for behind marks without end', async () => {
    const marks = Buffer.alloc(15 * MEGABYTE, '\ufeff');
    const read = async () => expect(await typeOf(marks)).to.equal('application/octet-stream');
    expect(await leastCpuMs(read)).to.be.below(MAX_CPU_MS);
  });

  it('are still known for what is in them, however they were written', async () => {
    const others = Array.from({ length: 300 }, (_, i) => ({ name: `word/media/${i}.png`, isStreamed: true }));
    for (const kind of ['document', 'template']) {
      const types = contentTypes(`${WORD}.${kind}`);
      expect(await typeOf(makeZip([types, ...others]))).to.equal(`${WORD}.${kind}`);
      expect(await typeOf(makeZip([...others, { ...types, isStreamed: true }]))).to.equal(`${WORD}.${kind}`);
    }
    const macros = 'application/vnd.ms-excel.sheet.macroEnabled';
    expect(await typeOf(makeZip([contentTypes(macros)]))).to.equal('application/vnd.ms-excel.sheet.macroenabled.12');
    const book = { name: 'mimetype', content: Buffer.from('application/epub+zip') };
    expect(await typeOf(makeZip([book, { name: 'META-INF/container.xml' }]))).to.equal('application/epub+zip');
    expect(await typeOf(makeZip([{ name: 'META-INF/MANIFEST.MF' }]))).to.equal('application/java-archive');
    expect(await typeOf(makeZip([{ name: 'a.txt', content: Buffer.from('text') }]))).to.equal('application/zip');
  });

  it('are archives, too, when they are cut off or lie about where things are', async () => {
    const whole = makeZip([contentTypes(`${WORD}.document`), { name: 'word/document.xml' }]);
    for (let length = 4; length < whole.length; length++) {
      expect(await typeOf(whole.subarray(0, length))).to.match(/^application\//);
    }
    for (let at = 4; at < whole.length; at++) {
      const broken = Buffer.from(whole);
      broken[at] = 0xff;
      expect(await typeOf(broken)).to.match(/^application\//);
    }
  });
});
