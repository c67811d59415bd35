import type { MediaContent } from '@gateway/contracts/content/media-content';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { dropBlob, putBlob } from '@gateway/store/blobs/blobs';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ADDRESS, UPLOADED, useScheduler } from './support/scheduler-stage.js';

const [ADA, BEN] = ['491517000001', '491517000002'] as const;
const FILE = Buffer.from('a picture, more or less');

describe('the file of a send', () => {
  const stage = useScheduler();
  let uploads: string[];
  let isDown: boolean;
  beforeEach(() => {
    [uploads, isDown] = [[], false];
    stage.network.upload = (bytes) => {
      uploads.push(bytes.toString());
      if (isDown) throw new Error('no host takes it');
      return { ...UPLOADED, atMs: stage.clock.nowMs() };
    };
  });

  async function store(): Promise<MediaContent> {
    const put = await putBlob(stage.space.store, ADDRESS.workspace, {
      ...{ bytes: FILE, nowMs: stage.clock.nowMs(), quotaBytes: 1_000_000 },
    });
    if (put.kind !== 'stored') throw new Error('there is no room');
    const { hash: blob, holder: blobHolder } = put;
    return { kind: 'media', type: 'image', mimeType: 'image/png', blob, blobHolder, sizeBytes: FILE.length };
  }
  function open() {
    const scheduler = stage.makeScheduler();
    scheduler.attach(stage.makeSession());
    return scheduler;
  }
  const accept = (content: MediaContent, expiresInMs = 2 * 3_600_000) =>
    stage.accept([ADA, BEN], { kind: 'media', content, expiresInMs });
  const rests = (scheduler: ReturnType<typeof open>) =>
    eventually(() => scheduler.sends.inTurn().every((send) => send.rests), { everyMs: 1 });

  it('goes up once, for all recipients and for later sends of the same file', async () => {
    const scheduler = open();
    const content = await store();
    await stage.start(scheduler, await accept(content));
    await stage.start(scheduler, await accept({ ...content, type: 'image' }));
    expect(stage.sent.map(({ to }) => to)).to.deep.equal([ADA, BEN, ADA, BEN]);
    expect(uploads).to.deep.equal([FILE.toString()]);
  });

  it('goes up again for a send a week later: the network keeps it for a while only', async () => {
    const scheduler = open();
    const content = await store();
    await stage.start(scheduler, await accept(content));
    stage.leap(7 * 24 * 3_600_000 + 1);
    await stage.start(scheduler, await accept(content));
    expect(uploads).to.have.length(2);
  });

  it('is tried again after pauses that double, and its recipients get it then', async () => {
    isDown = true;
    const scheduler = open();
    const list = await accept(await store());
    await stage.start(scheduler, list);
    await stage.pass(1_999, scheduler);
    expect(uploads).to.have.length(1);
    await stage.pass(1, scheduler);
    await eventually(() => uploads.length === 2, { everyMs: 1 });
    await rests(scheduler);
    isDown = false;
    await stage.pass(4_000, scheduler);
    await stage.sentTo(2);
    expect(uploads).to.have.length(3);
    await eventually(() => stage.warnings.length > 0, { everyMs: 1 });
    expect(stage.warnings, 'one line for all attempts').to.deep.equal(['attachment not uploaded']);
    expect(await stage.metric('gateway_uploads_total{outcome="failed"}')).to.equal(2);
    expect(await stage.metric('gateway_uploads_total{outcome="stored"}')).to.equal(1);
  });

  it('that no host takes in twelve attempts fails its recipients, and nothing of it goes out', async () => {
    isDown = true;
    const scheduler = open();
    const list = await accept(await store());
    await stage.start(scheduler, list);
    for (let attempts = 2; attempts <= 12; attempts++) {
      await rests(scheduler);
      await stage.pass(5 * 60_000, scheduler);
      await eventually(() => uploads.length === attempts, { everyMs: 1 });
    }
    await eventually(async () => (await stage.counts(list)).failed === 2, { everyMs: 1 });
    const failed = `failed ${ownErrorCode('attachment_not_uploaded')}`;
    expect(await stage.statuses(list)).to.deep.equal([failed, failed]);
    expect(stage.sent).to.deep.equal([]);
  });

  it('that did not go up because the connection ended goes up on the next one at once', async () => {
    const scheduler = stage.makeScheduler();
    const session = stage.makeSession();
    scheduler.attach(session);
    session.uploadMedia = async () => {
      scheduler.detach();
      throw new Error('the connection has ended');
    };
    const list = await accept(await store());
    const ended = stage.start(scheduler, list);
    await eventually(() => scheduler.sends.inTurn().some(({ file }) => !file.uploading && file.isLacking), {
      everyMs: 1,
    });
    scheduler.attach(stage.makeSession());
    await ended;
    expect(await stage.statuses(list)).to.deep.equal(['sent', 'sent']);
    expect(stage.warnings, 'that was no attempt').not.to.include('attachment not uploaded');
  });

  it('that is gone from the store fails its recipients, and the log says so', async () => {
    const scheduler = open();
    const content = await store();
    await dropBlob(stage.space.store, ADDRESS.workspace, content);
    const list = await accept(content);
    await stage.start(scheduler, list);
    const failed = `failed ${ownErrorCode('attachment_unreadable')}`;
    expect(await stage.statuses(list)).to.deep.equal([failed, failed]);
    expect(stage.errors.splice(0).join()).to.include('attachment cannot be read');
    expect(await stage.metric('gateway_uploads_total{outcome="unreadable"}')).to.equal(1);
    expect(uploads).to.deep.equal([]);
  });
});
