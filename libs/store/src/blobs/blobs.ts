import { createHash, randomBytes } from 'node:crypto';
import type { MediaContent, MediaType, MediaUpload } from '@gateway/contracts/content/media-content';
import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { inTime, systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import { readSurely, writeTogether } from '../core/confirming/write-together.js';
import { defineScript, number, bytes as sealedBytes, text } from '../core/scripts/define-script.js';
import { isOne, nothing, oneOf } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import { keyIdOf, LONGEST_HEADER_BYTES } from '../core/vault.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';

/**
 * Files, each stored once per workspace under the hash of its bytes, sealed, in pieces of a size that Redis moves quickly.
 * Each send that needs one holds it, for a few minutes until it is about to be accepted, so that a process which dies before
 * that blocks the quota for no longer. A blob goes when the last of them lets it go, and dies by itself when the time of all of
 * them is over.
 *
 * Blobs lie in the slot of the workspace, so that one step keeps its quota, and sends in those of devices. So the step that
 * closes a send only leaves a note; `releaseBlobs` carries it out.
 */
const CHUNK_BYTES = 512 * 1024;
/** Longer than any request takes from its file to its promise. */
const RESERVED_MS = 10 * 60_000;
/** Far longer than it takes to read a piece. */
const CHUNK_READ_MS = 3_000;

const reserveStep = defineScript({
  name: 'reserve-blob',
  whenFull: 'refused',
  keys: ['shortIds', 'blobs', 'sizes', 'total', 'reserved', 'holders', '...chunks'],
  args: { hash: text, bytes: number, holder: text, nowMs: number, diesAtMs: number, quotaBytes: number },
  reply: oneOf('kept', 'write', 'full', 'gone'),
});
const writeChunk = defineScript({
  name: 'write-chunk',
  whenFull: 'refused',
  keys: ['chunk', 'holders'],
  args: { sealed: sealedBytes, diesAtMs: number },
  reply: nothing,
});
const keepStep = defineScript({
  name: 'keep-blob',
  whenFull: 'runs',
  keys: ['blobs', 'reserved', 'holders', '...chunks'],
  args: { hash: text, holder: text, diesAtMs: number },
  reply: isOne,
});
const releaseStep = defineScript({
  name: 'release-blob',
  whenFull: 'runs',
  keys: ['blobs', 'sizes', 'total', 'reserved', 'holders', '...chunks'],
  args: { hash: text, holder: text, nowMs: number },
  reply: nothing,
});
const keepUploadStep = defineScript({
  name: 'keep-upload',
  whenFull: 'runs',
  keys: ['upload', 'device'],
  args: { sealed: sealedBytes, untilMs: number },
  reply: nothing,
});

interface Blob {
  hash: string;
  sizeBytes: number;
}

interface Hold extends Blob {
  /** The name under which one send holds it. */
  holder: string;
}

export interface NewBlob {
  bytes: Buffer;
  nowMs: number;
  /** Bytes that the workspace's blobs may take together. */
  quotaBytes: number;
}

/** SHA-256, hex: the name of a blob. */
function hashBlob(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Stores a file unless it is there already, for one more holder; `full` when the quota has no room. It lives for ten
 * minutes, until `keepBlob`. Safe to repeat, also at the same time. Holds nothing where it rejects. Throws `WorkspaceGoneError`.
 */
export async function putBlob(
  store: Store,
  workspace: Workspace,
  { bytes, nowMs, quotaBytes }: NewBlob,
): Promise<{ kind: 'stored'; hash: string; holder: string } | { kind: 'full' }> {
  const hash = hashBlob(bytes);
  const holder = randomBytes(9).toString('base64url');
  const keys = keysOf(store, workspace, { hash, sizeBytes: bytes.length });
  const diesAtMs = nowMs + RESERVED_MS;
  const reserve = async () => {
    const outcome = await reserveStep(store, {
      ...keys,
      ...{ hash, bytes: bytes.length, holder, nowMs, diesAtMs, quotaBytes },
    });
    if (outcome === 'gone') throw new WorkspaceGoneError();
    return outcome;
  };
  const reply = await reserve();
  if (reply === 'full') return { kind: 'full' };
  try {
    if (reply === 'write' || !(await isOpenable(store, keys.chunks))) {
      await writeChunks(store, keys, { bytes, diesAtMs });
      // Another send may have asked for a longer life meanwhile: all chunks get the longest.
      await reserve();
    }
  } catch (thrown) {
    await letGoOf(store, workspace, { hash, sizeBytes: bytes.length, holder });
    throw thrown;
  }
  return { kind: 'stored', hash, holder };
}

/** One after the other: a pipeline would hold the whole file once more. */
async function writeChunks(
  store: Store,
  { chunks, holders }: { chunks: readonly string[]; holders: string },
  { bytes, diesAtMs }: { bytes: Buffer; diesAtMs: number },
): Promise<void> {
  for (const [index, key] of chunks.entries()) {
    const piece = bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
    await writeChunk(store, { chunk: key, holders, sealed: store.vault.seal(piece, 'file', key), diesAtMs });
  }
}

/**
 * The blob of a send that is about to be accepted lives until that has expired. Safe to repeat. `false` when it has gone:
 * the send must not be accepted. Throws `not_confirmed` where replicas do not have it: on a Cluster it lies elsewhere than the send.
 */
export async function keepBlob(
  store: Store,
  workspace: Workspace,
  {
    content: { blob: hash, sizeBytes, blobHolder: holder },
    expiresAtMs,
  }: { content: MediaContent; expiresAtMs: number },
): Promise<boolean> {
  const keys = keysOf(store, workspace, { hash, sizeBytes });
  const diesAtMs = expiresAtMs + LIMITS.blobGraceSeconds * 1000;
  return writeTogether(store, keys.holders, () => keepStep(store, { ...keys, hash, holder, diesAtMs }));
}

/** Releases the blob of a send that was not accepted. Never rejects: the blob soon expires by itself. */
export async function dropBlob(store: Store, workspace: Workspace, content: MediaContent): Promise<void> {
  await letGoOf(store, workspace, parseHold(holdOf(content)));
}

async function letGoOf(store: Store, workspace: Workspace, hold: Hold): Promise<void> {
  await releaseBlob(store, workspace, hold).catch(() => {});
}

/** A file was not read, as Redis, or its node of a Cluster, has not answered for seconds. */
export class BlobAwayError extends GatewayError {
  constructor() {
    super({ code: 'blob_away', message: 'the stored file could not be read in time' });
  }
}

/**
 * The bytes of a blob, `undefined` if it is gone. Throws if they cannot be decrypted, or have changed, and `BlobAwayError` rather than
 * keep memory for a file that does not come.
 */
export async function readBlob(
  store: Store,
  workspace: Workspace,
  { hash, sizeBytes }: Blob,
): Promise<Buffer | undefined> {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let at = 0;
  for (const key of keysOf(store, workspace, { hash, sizeBytes }).chunks) {
    const reading = store.redis.getBuffer(key);
    if (!(await inTime(reading, CHUNK_READ_MS))) throw new BlobAwayError();
    const sealed = await reading;
    if (!sealed) return undefined;
    at += store.vault.open(sealed, 'file', key).copy(bytes, at);
  }
  if (hashBlob(bytes) !== hash) throw new Error('a blob is not what its name says');
  return bytes;
}

/** Resolves once the blobs of a workspace can be read, however long Redis, or their node of a Cluster, is away. */
export async function awaitBlobs(store: Store, workspace: Workspace): Promise<void> {
  await store.redis.exists(workspaceKeys(store.space, workspace).blobs);
}

/** The part of a send's record about its blob. */
export function holdOf({ blob, sizeBytes, blobHolder }: MediaContent): string {
  return `${blob}:${sizeBytes}:${blobHolder}`;
}

function parseHold(hold: string): Hold {
  const [hash = '', bytes, holder = ''] = hold.split(':');
  return { hash, sizeBytes: Number(bytes), holder };
}

async function releaseBlob(store: Store, workspace: Workspace, { hash, sizeBytes, holder }: Hold): Promise<void> {
  const keys = keysOf(store, workspace, { hash, sizeBytes });
  await releaseStep(store, { ...keys, hash, holder, nowMs: systemClock.nowMs() });
}

/**
 * Releases the blobs of a device's sends that have ended since, once replicas know that they have: on a Cluster the blobs lie elsewhere, and
 * a failover would open the sends again for which there is no file any more. Throws `not_confirmed`. Needs no owner; safe to repeat, also at
 * the same time.
 */
export async function releaseBlobs(store: Store, address: DeviceAddress): Promise<void> {
  const { releasedBlobs } = deviceKeys(store.space, address);
  const read = () => store.redis.smembers(releasedBlobs);
  for (const hold of await readSurely(store, releasedBlobs, { read, isAnything: (holds) => holds.length > 0 })) {
    await releaseBlob(store, address.workspace, parseHold(hold));
    await store.redis.srem(releasedBlobs, hold);
  }
}

/** Where the network keeps a blob as a medium of this type; `undefined` when it was not uploaded, or is forgotten. */
export async function readUpload(
  store: Store,
  address: DeviceAddress,
  { blob, type }: { blob: string; type: MediaType },
): Promise<MediaUpload | undefined> {
  const key = deviceKeys(store.space, address).blobUpload(blob, type);
  const sealed = await store.redis.getBuffer(key);
  // A process that cannot decrypt it uploads the file again.
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
  const { blobUpload, device } = deviceKeys(store.space, address);
  const key = blobUpload(blob, type);
  const sealed = store.vault.seal(JSON.stringify(upload), 'upload', key);
  await keepUploadStep(store, { upload: key, device, sealed, untilMs });
}

/** Another send uses the same upload: it is remembered for as long as that one needs. */
export async function extendUpload(
  store: Store,
  address: DeviceAddress,
  { blob, type, untilMs }: { blob: string; type: MediaType; untilMs: number },
): Promise<void> {
  const key = deviceKeys(store.space, address).blobUpload(blob, type);
  const leftMs = await store.redis.pttl(key);
  if (systemClock.nowMs() + leftMs < untilMs) await store.redis.pexpireat(key, untilMs);
}

/** Whether the stored file can be used: one that is encrypted with a key unknown here is written again. */
async function isOpenable(store: Store, chunks: readonly string[]): Promise<boolean> {
  const heads = await Promise.all(chunks.map((key) => store.redis.getrangeBuffer(key, 0, LONGEST_HEADER_BYTES)));
  return heads.every((head) => isKnown(store, head));
}

function isKnown(store: Store, sealed: Buffer): boolean {
  return store.vault.keyIds('contents').includes(keyIdOf(sealed));
}

function keysOf(store: Store, workspace: Workspace, { hash, sizeBytes }: Blob) {
  const keys = workspaceKeys(store.space, workspace);
  const { shortDeviceIds, blobs, blobSizes, blobBytes, blobReserved, blobHolders, blobChunk } = keys;
  const chunks = Array.from({ length: Math.ceil(sizeBytes / CHUNK_BYTES) }, (_, index) => blobChunk(hash, index));
  const ofHash = { reserved: blobReserved(hash), holders: blobHolders(hash), chunks };
  return { shortIds: shortDeviceIds, blobs, sizes: blobSizes, total: blobBytes, ...ofHash };
}
