import type { MediaContent, MediaUpload } from '@gateway/contracts/content/media-content';
import { LIMITS } from '@gateway/contracts/limits';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { Clock } from '@gateway/runtime/clock';
import { keepContained } from '@gateway/runtime/process/contain';
import { extendUpload, keepUpload, readBlob, readUpload } from '@gateway/store/blobs/blobs';
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

  private upload(session: MessengerSession, send: SendProgress, media: MediaContent): Promise<UploadOutcome> {
    const { store, ownership, uploads, metrics } = this.deps;
    const work = async (): Promise<UploadOutcome> => {
      const bytes = await this.readFile(media);
      if (bytes instanceof Error) {
        metrics.countUpload('unreadable');
        return { kind: 'unreadable', error: bytes };
      }
      const upload = await session.uploadMedia(media, bytes).catch((thrown: unknown) => {
        metrics.countUpload('failed');
        throw thrown;
      });
      metrics.countUpload('stored');
      await keepUpload(store, ownership.address, { ...media, upload, untilMs: neededUntilMs(send) });
      return { kind: 'uploaded', upload };
    };
    this.own ??= new PQueue({ concurrency: 2 });
    return this.own.add(() => uploads.add(keepContained(work)));
  }

  private async readFile({ blob, sizeBytes }: MediaContent): Promise<Buffer | Error> {
    const { store, ownership } = this.deps;
    const bytes = await readBlob(store, ownership.address.workspace, { hash: blob, sizeBytes });
    return bytes ?? new Error('the stored file is gone');
  }
}

/** Phones may ask for a message again for as long as its send is kept. */
function neededUntilMs({ record }: SendProgress): number {
  return record.expiresAtMs + LIMITS.sendRetentionSeconds * 1000;
}
