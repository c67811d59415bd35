import type { BinaryNode } from '@whiskeysockets/baileys';

export type { BinaryNode } from '@whiskeysockets/baileys';
export type NodeContent = NonNullable<BinaryNode['content']>;

/** The server's own address on stanzas: a jid without a user. */
export const SERVER = '@s.whatsapp.net';

/** Builds a node; attributes that are undefined do not leave (copying the others would cost more than encoding them). */
export function node(tag: string, attrs: Record<string, string | undefined> = {}, content?: NodeContent): BinaryNode {
  const given = attrs as Record<string, string>;
  return content === undefined ? { tag, attrs: given } : { tag, attrs: given, content };
}

/** A copy of attributes but for some. (Rest patterns take a slow path in V8; this is done several times a message.) */
export function without(attrs: Record<string, string>, left: ReadonlySet<string>): Record<string, string> {
  const rest: Record<string, string> = {};
  for (const name in attrs) if (!left.has(name)) rest[name] = attrs[name]!;
  return rest;
}

export function childrenOf(parent: BinaryNode | undefined): BinaryNode[] {
  return Array.isArray(parent?.content) ? parent.content : [];
}

export function childrenNamed(parent: BinaryNode | undefined, tag: string): BinaryNode[] {
  return childrenOf(parent).filter((child) => child.tag === tag);
}

export function childNamed(parent: BinaryNode | undefined, tag: string): BinaryNode | undefined {
  return childrenOf(parent).find((child) => child.tag === tag);
}

/** The node's content as bytes; text counts as UTF-8, children as nothing. */
export function bytesOf(parent: BinaryNode | undefined): Buffer | undefined {
  const content = parent?.content;
  if (content === undefined || Array.isArray(content)) return undefined;
  return Buffer.from(content as Uint8Array);
}

export function textOf(parent: BinaryNode | undefined): string | undefined {
  return bytesOf(parent)?.toString('utf8');
}

/** The bytes of the named child, of exactly this length where one is given. */
export function childBytes(parent: BinaryNode | undefined, tag: string, length?: number): Buffer | undefined {
  const bytes = bytesOf(childNamed(parent, tag));
  return length === undefined || bytes?.length === length ? bytes : undefined;
}

export function bigEndian(value: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntBE(value, 0, length);
  return bytes;
}

/** Unix time in seconds as stanzas carry it. */
export function stamp(atMs: number): string {
  return String(Math.floor(atMs / 1000));
}
