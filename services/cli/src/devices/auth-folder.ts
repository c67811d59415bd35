import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A session of Baileys as its `useMultiFileAuthState` keeps it: JSON, in which bytes are `{ type: 'Buffer', data: base64 }`. */
export interface AuthFolder {
  /** The text of creds.json. */
  creds: string;
  /** Digits of the account. */
  phone: string;
  keys: { type: string; id: string; value: Uint8Array }[];
  /** Ids of contacts with a privacy token. */
  contacts: string[];
  /** Files that do not belong to a session. */
  ignored: string[];
}

const KEY_TYPES = [
  'pre-key',
  'session',
  // Before `sender-key`, which is the beginning of its name.
  'sender-key-memory',
  'sender-key',
  'app-state-sync-key',
  'app-state-sync-version',
  'lid-mapping',
  'device-list',
  'tctoken',
  'identity-key',
] as const;

const INDEX = { type: 'tctoken', id: '__index' };

/** Throws a sentence for people when the folder holds no linked session, or a file of it is damaged. */
export async function readAuthFolder(folder: string): Promise<AuthFolder> {
  const names = await readdir(folder).catch(() => {
    throw new Error(`there is no folder ${folder}`);
  });
  if (!names.includes('creds.json')) throw new Error(`${folder} holds no creds.json: it is no auth folder of Baileys`);
  const { text: creds, value } = await readJson(folder, 'creds.json');
  const read: AuthFolder = { creds, phone: readPhone(value), keys: [], contacts: [], ignored: [] };
  for (const name of names.filter((each) => each !== 'creds.json')) {
    const key = parseFileName(name);
    if (!key) read.ignored.push(name);
    else await readKey(folder, { name, ...key }, read);
  }
  return read;
}

async function readKey(
  folder: string,
  { name, type, id }: { name: string; type: string; id: string },
  read: AuthFolder,
): Promise<void> {
  const { text, value } = await readJson(folder, name);
  // The library writes nothing for a key that is gone; other stores leave a null.
  if (value === null) return;
  if (type === INDEX.type && id === INDEX.id) read.contacts.push(...readIndex(value));
  else read.keys.push({ type, id, value: Buffer.from(text) });
}

/** Writes one file after the other, for the owner's eyes only. Throws when there are files already. */
export async function openAuthFolder(folder: string) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`);
  await chmod(folder, 0o700);
  const write = (name: string, text: Uint8Array | string) =>
    writeFile(join(folder, name), text, { mode: 0o600, flag: 'wx' });
  return {
    writeKey: (type: string, id: string, value: Uint8Array) => write(toFileName(type, id), value),
    writeContacts: (contacts: readonly string[]) => write(toFileName(INDEX.type, INDEX.id), makeIndex(contacts)),
    /** Last: a folder without it is no session. */
    writeCreds: (creds: string) => write('creds.json', creds),
  };
}

function toFileName(type: string, id: string): string {
  return `${type}-${id.replace(/\//g, '__').replace(/:/g, '-')}.json`;
}

/** The escaping of the library is not one-to-one, but what each type of key takes as its id says what was meant. */
function parseFileName(name: string): { type: string; id: string } | undefined {
  const type = KEY_TYPES.find((each) => name.startsWith(`${each}-`));
  if (!type || !name.endsWith('.json')) return undefined;
  const id = unescapeId(type, name.slice(type.length + 1, -'.json'.length));
  return id === '' ? undefined : { type, id };
}

function unescapeId(type: (typeof KEY_TYPES)[number], id: string): string {
  switch (type) {
    // Base64.
    case 'app-state-sync-key':
      return id.replace(/__/g, '/');
    // group::sender::device; ids of groups may have a dash of their own.
    case 'sender-key':
      return id.replace(/^(.+)--(.+)--(\d+)$/, '$1::$2::$3');
    // Of a jid with a device.
    case 'identity-key':
      return id.replace(/^(\d+(?:_\d+)?)-(\d+)(@|$)/, '$1:$2$3');
    default:
      return id;
  }
}

async function readJson(folder: string, name: string): Promise<{ text: string; value: unknown }> {
  const text = await readFile(join(folder, name), 'utf8');
  try {
    return { text, value: JSON.parse(text) };
  } catch {
    throw new Error(`${name} is damaged: it is not JSON`);
  }
}

/** Only `account` says that a device is linked: it is what the phone has signed. */
function readPhone(creds: unknown): string {
  const { account, me, noiseKey, signedIdentityKey } = (creds ?? {}) as Record<string, { id?: unknown } | undefined>;
  const phone = /^(\d{7,15})[:@]/.exec(String(me?.id))?.[1];
  if (!account || !phone) throw new Error('creds.json is not of a linked account');
  if (!noiseKey || !signedIdentityKey) throw new Error('creds.json is damaged: keys are missing');
  return phone;
}

function readIndex(value: unknown): string[] {
  const data = (value as { token?: { data?: unknown } }).token?.data;
  const list: unknown = typeof data === 'string' ? JSON.parse(Buffer.from(data, 'base64').toString()) : [];
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}

function makeIndex(contacts: readonly string[]): string {
  const data = Buffer.from(JSON.stringify(contacts)).toString('base64');
  return JSON.stringify({ token: { type: 'Buffer', data } });
}
