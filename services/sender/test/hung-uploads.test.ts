import type { MediaContent } from '@gateway/contracts/content/media-content';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { MediaUploads, type UploadOutcome } from '@gateway/sender/preparing/media-uploads';
import type { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { putBlob } from '@gateway/store/blobs/blobs';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import PQueue from 'p-queue';
import { UPLOADED } from './support/scheduler-stage.js';

const HOUR_MS = 3_600_000;

describe('files on a node of a Cluster that hangs', () => {
  let space: RedisSpace;
  /** All devices of the process. */
  let uploads: PQueue;
  let uploaded: string[];
  let thaw: () => void;

  beforeEach(async () => {
    space = await openRedisSpace();
    [uploads, uploaded, thaw] = [new PQueue({ concurrency: 2 }), [], () => {}];
  });
  afterEach(async () => {
    thaw();
    await uploads.onIdle();
    await space.close();
  });

  const session = {
    uploadMedia: async (_media: MediaContent, bytes: Buffer) => {
      uploaded.push(bytes.toString());
      return { ...UPLOADED, atMs: Date.now() };
    },
  } as unknown as MessengerSession;
  const send = { record: { expiresAtMs: Date.now() + HOUR_MS } } as SendProgress;

  async function open(workspace: string): Promise<(file: string) => Promise<UploadOutcome>> {
    const { store } = space;
    const ownership = (await takeDevice(store, { workspace, device: 'a' }, { owner: 'o', ttlMs: HOUR_MS }))!;
    const media = new MediaUploads({ store, ownership, clock: systemClock, uploads, metrics: { countUpload() {} } });
    return async (file) => media.ensure(session, send, await put(workspace, file));
  }
  async function put(workspace: string, file: string): Promise<MediaContent> {
    const bytes = Buffer.from(file);
    const put = await putBlob(space.store, workspace, { bytes, nowMs: Date.now(), quotaBytes: 1_000_000 });
    if (put.kind !== 'stored') throw new Error('there is no room');
    const { hash: blob, holder: blobHolder } = put;
    return { kind: 'media', type: 'image', mimeType: 'image/png', blob, blobHolder, sizeBytes: bytes.length };
  }

  /** What is asked of the files of a workspace has no answer; or only what is asked for the files themselves. */
  function freeze(workspace: string, commands: readonly ('exists' | 'getBuffer')[]): void {
    const { redis } = space.store;
    const { blobs, blobChunk } = workspaceKeys(space.store.space, workspace);
    const thawed = defer<void>();
    const isFrozen = (key: string) => key === blobs || key.startsWith(blobChunk('', 0).slice(0, -':0'.length));
    const answers = commands.map(
      (name) => [name, redis[name].bind(redis) as (key: string) => Promise<unknown>] as const,
    );
    for (const [name, answer] of answers) {
      const answerLater = async (key: string) => {
        if (isFrozen(key)) await thawed.promise;
        return answer(key);
      };
      Object.assign(redis, { [name]: answerLater });
    }
    thaw = () => {
      Object.assign(redis, Object.fromEntries(answers));
      thawed.resolve();
    };
  }

  it('keep no turn from those of other nodes, and go up once theirs is back', async () => {
    const [far, near] = [await open('far'), await open('near')];
    freeze('far', ['exists', 'getBuffer']);
    const waiting = ['a', 'b', 'c'].map((file) => far(file));
    expect(await near('near')).to.include({ kind: 'uploaded' });
    expect(uploaded).to.deep.equal(['near']);
    thaw();
    for (const outcome of await Promise.all(waiting)) expect(outcome).to.include({ kind: 'uploaded' });
    expect(uploaded.sort()).to.deep.equal(['a', 'b', 'c', 'near']);
  });

  it('give up their turns when it hangs while they are read, which is no attempt', async function () {
    this.timeout(60_000);
    const [far, near] = [await open('far'), await open('near')];
    freeze('far', ['getBuffer']);
    const waiting = ['a', 'b'].map((file) => far(file));
    expect(await near('near')).to.include({ kind: 'uploaded' });
    expect(uploaded).to.deep.equal(['near']);
    thaw();
    for (const outcome of await Promise.all(waiting)) expect(outcome).to.include({ kind: 'uploaded' });
  });

  it('keep no turn while it cannot be noted where they are, as the node of their device hangs', async () => {
    const [far, near] = [await open('far'), await open('near')];
    const { store } = space;
    const { run } = store;
    const upload = deviceKeys(store.space, { workspace: 'far', device: 'a' }).blobUpload('', '').slice(0, -':'.length);
    const thawed = defer<void>();
    let frozen = 0;
    const runLater = async (...args: Parameters<typeof run>) => {
      if (args[1].some((key) => String(key).startsWith(upload)) && ++frozen) await thawed.promise;
      return run(...args);
    };
    Object.assign(store, { run: runLater });
    thaw = thawed.resolve;
    const waiting = ['a', 'b'].map((file) => far(file));
    await eventually(() => frozen === 2);
    expect(await near('near')).to.include({ kind: 'uploaded' });
    thaw();
    for (const outcome of await Promise.all(waiting)) expect(outcome).to.include({ kind: 'uploaded' });
  });
});
