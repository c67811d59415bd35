import type { Agent } from 'node:https';
import { fetchHistoryFile } from '../history/fetch-history-file.js';
import { readFields } from '../history/read-fields.js';
import { NetworkRefusalError } from '../session/session-errors.js';
import {
  type BaileysSocket,
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  S_WHATSAPP_NET,
} from '../socket/baileys.js';
import { fieldAt, type SettingsRecord } from './read-salt.js';

export interface SettingsDeps {
  sock: BaileysSocket;
  /** Asks the network one question, bounded in time. */
  ask(question: () => Promise<BinaryNode>): Promise<BinaryNode>;
  /** For downloads from a stand-in. */
  agent?: Agent | undefined;
  /** Bounds all of it. */
  signal: AbortSignal;
}

const MOST_PAGES = 5;
const MOST_FILES = 8;
const WITHOUT_CODE = 400;
const REMOVE = 1;

/**
 * All records of one collection of the settings that the devices of an account share, in their order, sealed as they are:
 * from a snapshot, and the patches after it. Nothing is stored, nor said to the network. Rejects when the network refuses,
 * does not answer, or has more than there can be.
 */
export async function fetchSettings(deps: SettingsDeps, name: string): Promise<SettingsRecord[]> {
  const records: SettingsRecord[] = [];
  let version = 0;
  let files = MOST_FILES;
  const fetchFile = (reference: Uint8Array) => {
    if (files-- <= 0) throw new Error('settings in too many files');
    return download(deps, reference);
  };
  for (let page = 0; page < MOST_PAGES; page++) {
    const collection = await askFor(deps, { name, version });
    const snapshot = bytesOf(getBinaryNodeChild(collection, 'snapshot'));
    if (snapshot) {
      const file = await fetchFile(snapshot);
      version = versionOf(file);
      for (const record of all(file, 2)) records.push({ record, isRemoved: false });
    }
    for (const node of getBinaryNodeChildren(getBinaryNodeChild(collection, 'patches') ?? collection, 'patch')) {
      const patch = bytesOf(node);
      if (!patch) continue;
      version = versionOf(patch) || version + 1;
      records.push(...mutationsOf(patch, 2));
      const elsewhere = fieldAt(patch, 3);
      if (elsewhere.length > 0) records.push(...mutationsOf(await fetchFile(elsewhere), 1));
    }
    if (collection.attrs.has_more_patches !== 'true') return records;
  }
  throw new Error('settings without an end');
}

async function askFor({ ask, sock }: SettingsDeps, { name, version }: { name: string; version: number }) {
  const attrs = { name, version: String(version), return_snapshot: String(version === 0) };
  const answer = await ask(() =>
    sock.query({
      tag: 'iq',
      attrs: { to: S_WHATSAPP_NET, xmlns: 'w:sync:app:state', type: 'set' },
      content: [{ tag: 'sync', attrs: {}, content: [{ tag: 'collection', attrs }] }],
    }),
  );
  const collections = getBinaryNodeChildren(getBinaryNodeChild(answer, 'sync'), 'collection');
  const collection = collections.find((each) => each.attrs.name === name);
  if (!collection || collection.attrs.type === 'error') {
    throw new NetworkRefusalError(Number(getBinaryNodeChild(collection, 'error')?.attrs.code) || WITHOUT_CODE);
  }
  return collection;
}

/** `ExternalBlobReference`. */
async function download({ sock, agent, signal }: SettingsDeps, reference: Uint8Array): Promise<Buffer> {
  const { hosts } = await sock.refreshMediaConn();
  const base64 = (id: number) => Buffer.from(fieldAt(reference, id)).toString('base64');
  const directPath = Buffer.from(fieldAt(reference, 2)).toString();
  const file = { directPath, mediaKey: base64(1), fileEncSha256: base64(6) };
  const names = hosts.map(({ hostname }) => hostname);
  return fetchHistoryFile(file, { kind: 'md-app-state', hosts: names, agent, signal });
}

function* mutationsOf(bytes: Uint8Array, id: number): Generator<SettingsRecord> {
  for (const mutation of all(bytes, id)) {
    let isRemoved = false;
    for (const { id: field, value } of readFields(mutation)) if (field === 1) isRemoved = value === REMOVE;
    yield { record: fieldAt(mutation, 2), isRemoved };
  }
}

/** Of a snapshot or a patch; 0 when it does not say. */
function versionOf(bytes: Uint8Array): number {
  for (const { id, value } of readFields(fieldAt(bytes, 1))) if (id === 1 && typeof value === 'number') return value;
  return 0;
}

function* all(bytes: Uint8Array, wanted: number): Generator<Uint8Array> {
  for (const { id, value } of readFields(bytes)) if (id === wanted && typeof value !== 'number') yield value;
}

function bytesOf(node: BinaryNode | undefined): Uint8Array | undefined {
  return node?.content instanceof Uint8Array ? node.content : undefined;
}
