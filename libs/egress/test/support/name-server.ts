import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';

/**
 * What a name leads to: IPv4 addresses, which may be others each time, and IPv6 addresses (written out in full), or another name.
 */
export type Zone = Record<string, { a?: string[] | (() => string[]); aaaa?: string[]; cname?: string }>;

export interface NameServer {
  /** As resolvers take it: `127.0.0.1:port`. */
  server: string;
  /** Names it was asked for, with the kind of address. */
  asked: string[];
  close(): Promise<void>;
}

const KINDS: Record<number, 'a' | 'aaaa'> = { 1: 'a', 28: 'aaaa' };
const CNAME = 5;

/** A name server on this host, by UDP. Answers nothing at all without a zone; names that are not in it do not exist. */
export async function startNameServer(zone?: Zone): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, kind, end } = readQuestion(query);
    asked.push(`${name} ${kind}`);
    if (zone) socket.send(answer(query.subarray(0, end), { name, kind, zone }), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => void socket.close(() => resolve()));
  return { server: `127.0.0.1:${port}`, asked, close };
}

function readQuestion(query: Buffer): { name: string; kind: 'a' | 'aaaa' | undefined; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at++]!; length > 0; length = query[at++]!) {
    labels.push(query.toString('latin1', at, at + length));
    at += length;
  }
  return { name: labels.join('.').toLowerCase(), kind: KINDS[query.readUInt16BE(at)], end: at + 4 };
}

function answer(
  question: Buffer,
  { name, kind, zone }: { name: string; kind: 'a' | 'aaaa' | undefined; zone: Zone },
): Buffer {
  const records: Buffer[] = [];
  let owner = name;
  for (let next = zone[owner]?.cname; next !== undefined; next = zone[owner]?.cname) {
    records.push(makeRecord(owner, CNAME, toName(next)));
    owner = next;
  }
  if (kind === 'a') {
    const { a = [] } = zone[owner] ?? {};
    for (const each of typeof a === 'function' ? a() : a)
      records.push(makeRecord(owner, 1, Buffer.from(each.split('.').map(Number))));
  }
  if (kind === 'aaaa') {
    for (const aaaa of zone[owner]?.aaaa ?? []) {
      const hex = aaaa.split(':').map((part) => part.padStart(4, '0'));
      records.push(makeRecord(owner, 28, Buffer.from(hex.join(''), 'hex')));
    }
  }
  const head = Buffer.from(question);
  const NO_SUCH_NAME = 3;
  head.writeUInt16BE(0x8180 | (zone[name] ? 0 : NO_SUCH_NAME), 2);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...records]);
}

function makeRecord(owner: string, type: number, data: Buffer): Buffer {
  const fields = Buffer.alloc(10);
  fields.writeUInt16BE(type, 0);
  fields.writeUInt16BE(1, 2);
  fields.writeUInt16BE(data.length, 8);
  return Buffer.concat([toName(owner), fields, data]);
}

function toName(name: string): Buffer {
  return Buffer.concat([
    ...name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]),
    Buffer.alloc(1),
  ]);
}

/** A name that leads to one address at first, then to the other, and so on. */
export function inTurn(...addresses: string[]): () => string[] {
  let at = 0;
  return () => [addresses[at++ % addresses.length]!];
}
