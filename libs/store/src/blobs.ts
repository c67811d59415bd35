import { createHash } from 'node:crypto';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import type { MediaType, MediaUpload } from '@gateway/contracts/message-content';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Store, writeAlways } from './store.js';
import { keyIdOf, LONGEST_HEADER_BYTES } from './vault.js';

/**
 * Files, each stored once per device under the hash of its bytes, sealed, in pieces of a size that Redis moves quickly.
 * A blob dies by itself when the last of its sends can have no use for it.
 */
const CHUNK_BYTES = 512 * 1024;

export interface NewBlob {
  bytes: Buffer;
  nowMs: number;
  /** When the send that needs it expires. */
  neededUntilMs: number;
  /** Bytes that the device's blobs may take together. */
  quotaBytes: number;
}

/** SHA-256, hex: the name of a blob. */
function hashBlob(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Stores a file unless it is there already; `full` when the device's quota has no room. Safe to repeat, also at the same time. */
export async function putBlob(
  store: Store,
  address: DeviceAddress,
  { bytes, nowMs, neededUntilMs, quotaBytes }: NewBlob,
): Promise<{ kind: 'stored'; hash: string } | { kind: 'full' }> {
  const keys = deviceKeys(store.space, address);
  const hash = hashBlob(bytes);
  const chunks = chunkKeys(store, address, hash, bytes.length);
  const diesAtMs = neededUntilMs + LIMITS.blobGraceSeconds * 1000;
  const reserve = () =>
    store.run(
      'reserve-blob',
      [keys.blobs, keys.blobSizes, ...chunks],
      [hash, bytes.length, nowMs, diesAtMs, quotaBytes],
    );
  const reply = await reserve();
  if (reply === 'full') return { kind: 'full' };
  if (reply === 'write' || !(await isOpenable(store, chunks))) {
    // One after the other: a pipeline would hold the whole file once more.
    for (const [index, key] of chunks.entries()) {
      const piece = bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
      await store.redis.set(key, store.vault.seal(piece, 'file', key), 'PXAT', diesAtMs);
    }
    // Another send may have asked for a longer life meanwhile: all chunks get the longest.
    await reserve();
  }
  return { kind: 'stored', hash };
}

/** The bytes of a blob, `undefined` when it is gone. Throws when they cannot be opened, or are not what they were. */
export async function readBlob(
  store: Store,
  address: DeviceAddress,
  { hash, sizeBytes }: { hash: string; sizeBytes: number },
): Promise<Buffer | undefined> {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let at = 0;
  for (const key of chunkKeys(store, address, hash, sizeBytes)) {
    const sealed = await store.redis.getBuffer(key);
    if (!sealed) return undefined;
    at += store.vault.open(sealed, 'file', key).copy(bytes, at);
  }
  if (hashBlob(bytes) !== hash) throw new Error('a blob is not what its name says');
  return bytes;
}

/** Where the network keeps a blob as a medium of this type; `undefined` when it was not uploaded, or is forgotten. */
export async function readUpload(
  store: Store,
  address: DeviceAddress,
  { blob, type }: { blob: string; type: MediaType },
): Promise<MediaUpload | undefined> {
  const key = deviceKeys(store.space, address).blobUpload(blob, type);
  const sealed = await store.redis.getBuffer(key);
  // Uploaded again by whoever cannot open it.
  return sealed && isKnown(store, sealed)
    ? (JSON.parse(store.vault.open(sealed, 'upload', key).toString()) as MediaUpload)
    : undefined;
}

/** Remembers an upload for later sends, other processes, and phones that ask again. */
export async function keepUpload(
  store: Store,
  address: DeviceAddress,
  { blob, type, upload, untilMs }: { blob: string; type: MediaType; upload: MediaUpload; untilMs: number },
): Promise<void> {
  const key = deviceKeys(store.space, address).blobUpload(blob, type);
  await writeAlways(store, 'SET', key, store.vault.seal(JSON.stringify(upload), 'upload', key), 'PXAT', untilMs);
}

/** Another send uses the same upload: it is remembered for as long as that one needs. */
export async function extendUpload(
  store: Store,
  address: DeviceAddress,
  { blob, type, untilMs }: { blob: string; type: MediaType; untilMs: number },
): Promise<void> {
  const key = deviceKeys(store.space, address).blobUpload(blob, type);
  const leftMs = await store.redis.pttl(key);
  if (Date.now() + leftMs < untilMs) await store.redis.pexpireat(key, untilMs);
}

/** Whether the file that is there is of use: one that is sealed with a key of others, or of the past, is written anew. */
async function isOpenable(store: Store, chunks: readonly string[]): Promise<boolean> {
  const heads = await Promise.all(chunks.map((key) => store.redis.getrangeBuffer(key, 0, LONGEST_HEADER_BYTES)));
  return heads.every((head) => isKnown(store, head));
}

function isKnown(store: Store, sealed: Buffer): boolean {
  return store.vault.keyIds('contents').includes(keyIdOf(sealed));
}

function chunkKeys(store: Store, address: DeviceAddress, hash: string, sizeBytes: number): string[] {
  const { blobChunk } = deviceKeys(store.space, address);
  return Array.from({ length: Math.ceil(sizeBytes / CHUNK_BYTES) }, (_, index) => blobChunk(hash, index));
}
