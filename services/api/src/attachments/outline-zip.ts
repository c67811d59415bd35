const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
const DIRECTORY_ENTRY = 0x02014b50;
const DIRECTORY_ENTRY_BYTES = 46;
const DIRECTORY_END = Buffer.from('PK\x05\x06', 'latin1');
const DIRECTORY_END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const MAX_ENTRIES = 4_096;
const MAX_CONTENT_BYTES = 64 * 1024;
const ENCRYPTED = 1;

/** Of these the content tells the format. */
const TELLING_CONTENT = new Set(['mimetype', '[Content_Types].xml']);
/** Of these the name does, and one of a kind is enough. */
const TELLING_NAME =
  /^(?:META-INF\/(?:MANIFEST\.MF|mozilla\.rsa)$|word\/|ppt\/|xl\/|3D\/(?=.*\.model$)|classes\d*\.dex$)/;

interface Entry {
  name: string;
  /** As in the archive, packed or not. Empty where only the name tells something. */
  content: Buffer;
  method: number;
  unpackedBytes: number;
}

/**
 * A small ZIP of what tells the format of a large one: at most one entry of each kind, found by the directory at its end. A
 * library that looks through all of a hostile archive works for a second on 16 kB.
 *
 * @returns An archive without a directory, of less than 150 kB. Empty if nothing tells.
 */
export function outlineZip(archive: Buffer): Buffer {
  const found = new Map<string, Entry>();
  for (const at of directoryEntries(archive)) {
    const name = archive.toString('latin1', at + DIRECTORY_ENTRY_BYTES, at + nameEnd(archive, at));
    const kind = TELLING_CONTENT.has(name) ? name : TELLING_NAME.exec(name)?.[0];
    if (kind !== undefined && !found.has(kind)) found.set(kind, readEntry(archive, at, name));
  }
  return Buffer.concat([...found.values()].flatMap((entry) => [localHeader(entry), entry.content]));
}

/** Long names tell nothing. */
function nameEnd(archive: Buffer, at: number): number {
  return DIRECTORY_ENTRY_BYTES + Math.min(archive.readUInt16LE(at + 28), 100);
}

function* directoryEntries(archive: Buffer): Generator<number> {
  const tail = archive.subarray(-(DIRECTORY_END_BYTES + MAX_COMMENT_BYTES));
  const endAt = tail.lastIndexOf(DIRECTORY_END);
  if (endAt < 0 || endAt + DIRECTORY_END_BYTES > tail.length) return;
  let at = tail.readUInt32LE(endAt + 16);
  for (let i = 0; i < MAX_ENTRIES && at + DIRECTORY_ENTRY_BYTES <= archive.length; i++) {
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY) return;
    yield at;
    const lengths = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    at += lengths.reduce((sum, length) => sum + length, DIRECTORY_ENTRY_BYTES);
  }
}

function readEntry(archive: Buffer, at: number, name: string): Entry {
  const content = TELLING_CONTENT.has(name) ? readContent(archive, at) : undefined;
  if (!content) return { name, content: Buffer.alloc(0), method: 0, unpackedBytes: 0 };
  return { name, content, method: archive.readUInt16LE(at + 10), unpackedBytes: archive.readUInt32LE(at + 24) };
}

function readContent(archive: Buffer, at: number): Buffer | undefined {
  const bytes = archive.readUInt32LE(at + 20);
  const headerAt = archive.readUInt32LE(at + 42);
  const isEncrypted = (archive.readUInt16LE(at + 8) & ENCRYPTED) !== 0;
  if (isEncrypted || bytes > MAX_CONTENT_BYTES || headerAt + LOCAL_HEADER_BYTES > archive.length) return undefined;
  const lengths = archive.readUInt16LE(headerAt + 26) + archive.readUInt16LE(headerAt + 28);
  const startAt = headerAt + LOCAL_HEADER_BYTES + lengths;
  return startAt + bytes <= archive.length ? archive.subarray(startAt, startAt + bytes) : undefined;
}

function localHeader({ name, content, method, unpackedBytes }: Entry): Buffer {
  const header = Buffer.alloc(LOCAL_HEADER_BYTES);
  header.writeUInt32LE(LOCAL_HEADER, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(content.length, 18);
  header.writeUInt32LE(unpackedBytes, 22);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, Buffer.from(name, 'latin1')]);
}
