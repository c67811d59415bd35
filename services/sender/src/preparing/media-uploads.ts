import type { MediaContent, MediaUpload } from '@gateway/contracts/content/media-content';
import { LIMITS } from '@gateway/contracts/limits';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { Clock } from '@gateway/runtime/clock';
import { keepContained } from '@gateway/runtime/process/contain';
import { awaitBlobs, BlobAwayError, extendUpload, keepUpload, readBlob, readUpload } from '@gateway/store/blobs/blobs';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import PQueue from 'p-queue';
import type { SendProgress } from '../scheduling/send-progress.js';
import type { SenderMetrics } from '../sender-metrics.js';

export type UploadOutcome =
  | { kind: 'uploaded'; upload: MediaUpload }
  /** The stored file is gone, or cannot be opened: no other try will find it. */
  | { kind: 'unreadable'; error: Error };

/** So old an upload is not used for a new send: the network forgets files after a month, and phones may be off for weeks. */
const FRESH_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Brings the files of a device's sends to the network, each once: whichever send or process needs one next finds where
 * it is in Redis. Files are in memory only while they are uploaded.
 */
export class MediaUploads {
  /** Under way, by blob and type: two sends of one file wait for the same upload. */
  private readonly running = new Map<string, Promise<UploadOutcome>>();

  /** A device whose files go nowhere waits with these few of them; the turn is then another device's. Most devices have none. */
  private own: PQueue | undefined;

  constructor(
    private readonly deps: {
      store: Store;
      ownership: Ownership;
      clock: Clock;
      uploads: PQueue;
      metrics: Pick<SenderMetrics, 'countUpload'>;
    },
  ) {}

  /** Rejects when the network did not take the file now: try again later. */
  ensure(session: MessengerSession, send: SendProgress, media: MediaContent): Promise<UploadOutcome> {
    const name = `${media.blob} ${media.type}`;
    const running = this.running.get(name);
    if (running) return running;
    const started = this.find(send, media)
      .then((upload) => (upload ? { kind: 'uploaded' as const, upload } : this.upload(session, send, media)))
      .finally(() => this.running.delete(name));
    this.running.set(name, started);
    return started;
  }

  private async find(send: SendProgress, media: MediaContent): Promise<MediaUpload | undefined> {
    const { store, ownership, clock } = this.deps;
    const known = await readUpload(store, ownership.address, media);
    if (!known || clock.nowMs() - known.atMs > FRESH_MS) return undefined;
    await extendUpload(store, ownership.address, { ...media, untilMs: neededUntilMs(send) });
    return known;
  }

  private async upload(session: MessengerSession, send: SendProgress, media: MediaContent): Promise<UploadOutcome> {
    const { store, ownership } = this.deps;
    const outcome = await this.uploadInTurn(session, media);
    if (outcome.kind === 'unreadable') return outcome;
    // Without a turn: Redis may be away.
    await keepUpload(store, ownership.address, { ...media, upload: outcome.upload, untilMs: neededUntilMs(send) });
    return outcome;
  }

  /** A file on a node of a Cluster that is away waits without a turn, for as long as it takes: that is no attempt. */
  private async uploadInTurn(session: MessengerSession, media: MediaContent): Promise<UploadOutcome> {
    const { store, ownership, uploads } = this.deps;
    const work = () => this.readAndUpload(session, media);
    this.own ??= new PQueue({ concurrency: 2 });
    for (;;) {
      await awaitBlobs(store, ownership.address.workspace);
      const outcome = await this.own.add(() => uploads.add(keepContained(work)));
      if (outcome !== 'away') return outcome;
    }
  }

  private async readAndUpload(session: MessengerSession, media: MediaContent): Promise<UploadOutcome | 'away'> {
    const { metrics } = this.deps;
    const bytes = await this.readFile(media);
    if (bytes === 'away') return bytes;
    if (bytes instanceof Error) {
      metrics.countUpload('unreadable');
      return { kind: 'unreadable', error: bytes };
    }
    const upload = await session.uploadMedia(media, bytes).catch((thrown: unknown) => {
      metrics.countUpload('failed');
      throw thrown;
    });
    metrics.countUpload('stored');
    return { kind: 'uploaded', upload };
  }

  private async readFile({ blob, sizeBytes }: MediaContent): Promise<Buffer | Error | 'away'> {
    const { store, ownership } = this.deps;
    try {
      const bytes = await readBlob(store, ownership.address.workspace, { hash: blob, sizeBytes });
      return bytes ?? new Error('the stored file is gone');
    } catch (thrown) {
      if (thrown instanceof BlobAwayError) return 'away';
      throw thrown;
    }
  }
}

/** Phones may ask for a message again for as long as its send is kept. */
function neededUntilMs({ record }: SendProgress): number {
  return record.expiresAtMs + LIMITS.sendRetentionSeconds * 1000;
}
