import { type Detector, FileTypeParser, fileTypeFromBuffer } from 'file-type';
import { outlineZip } from './outline-zip.js';

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** As many as the library skips. */
const MAX_MARKS = 256;
const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);
const ZIP = Buffer.from('PK\x03\x04', 'latin1');

/** The MIME type that the bytes of a file show, in a few milliseconds of processor time, whatever they are. */
export async function detectType(bytes: Buffer): Promise<string | undefined> {
  // Also asked for what follows the tags of a sound file.
  const detect: Detector['detect'] = ({ position }) => detectArchive(bytes.subarray(position));
  const parser = new FileTypeParser({ customDetectors: [{ id: 'archives', detect }] });
  return (await parser.fromBuffer(bytes).catch(() => undefined))?.mime;
}

/** The library would unpack a gzip to see what is in it, and look for the end of each entry of a ZIP byte by byte. */
async function detectArchive(bytes: Buffer): ReturnType<Detector['detect']> {
  let start = 0;
  for (let i = 0; i < MAX_MARKS && startsWith(bytes, start, BYTE_ORDER_MARK); i++) start += BYTE_ORDER_MARK.length;
  if (startsWith(bytes, start, GZIP)) return { ext: 'gz', mime: 'application/gzip' };
  if (!startsWith(bytes, start, ZIP)) return undefined;
  return (await fileTypeFromBuffer(outlineZip(bytes.subarray(start)))) ?? { ext: 'zip', mime: 'application/zip' };
}

function startsWith(bytes: Buffer, at: number, signature: Buffer): boolean {
  return bytes.subarray(at, at + signature.length).equals(signature);
}
