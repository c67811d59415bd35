import { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { expect } from 'chai';
import { counts, lookUp, recipient, take } from './support/open-send.js';
import { takeReady } from './support/take.js';

describe('the progress of a send of a file', () => {
  const upload = { url: '', directPath: '/x', mediaKey: '', fileSha256: '', fileEncSha256: '', atMs: 0 };
  const mediaSend = (recipients = [recipient(0), recipient(1)]) =>
    new SendProgress({
      record: {
        ...{ messageId: 'msg_1', tag: '0', state: 'open', kind: 'media', total: recipients.length, parts: 2 },
        ...{ owner: 't', requestId: 'r', createdAtMs: 0, expiresAtMs: 1, counts },
        ...{ priority: 'bulk', accountEpoch: 0, blob: '' },
      },
      recipients,
      content: {
        ...{ kind: 'media', type: 'sticker', mimeType: 'image/webp', blob: 'b', blobHolder: 'h', sizeBytes: 1 },
        followingText: 'and this',
      },
    });

  it('hands nothing out before the file is at the network', () => {
    const send = mediaSend();
    expect(take(send)).to.equal(undefined);
    expect(send.mayUpload(0)).to.equal(true);
    send.file.upload = upload;
    expect(send.mayUpload(0)).to.equal(false);
    expect(send.contentFor(takeReady(send)!)).to.deep.include({ kind: 'media', upload });
  });

  it('gives a recipient the second part once the first was accepted, before it turns to others', () => {
    const send = mediaSend();
    send.file.upload = upload;
    expect(take(send)).to.include({ recipient: 0, part: 0 });
    send.acceptedPart(0, 0);
    const second = takeReady(send)!;
    expect(second).to.include({ recipient: 0, part: 1 });
    expect(send.contentFor(second)).to.deep.equal({ kind: 'text', text: 'and this' });
    send.acceptedPart(0, 1);
    expect(takeReady(send)).to.include({ recipient: 1, part: 0 });
  });

  it('repeats only the part that is missing, also after a hand-over', () => {
    const send = mediaSend([{ ...recipient(0, 'queued', 1), partsAcked: 1 }]);
    send.file.upload = upload;
    expect(take(send)).to.include({ recipient: 0, part: 1 });
    send.retryLater(0, 0);
    expect(take(send, 60_000)).to.include({ recipient: 0, part: 1 });
    send.acceptedPart(0, 1);
    expect(send.isDone).to.equal(true);
  });

  it('begins with short pauses again once a part was accepted', () => {
    const send = mediaSend([recipient(0)]);
    send.file.upload = upload;
    for (const nowMs of [0, 10_000, 20_000]) {
      take(send, nowMs);
      send.retryLater(0, nowMs);
    }
    take(send, 30_000);
    send.acceptedPart(0, 0);
    takeReady(send);
    send.retryLater(0, 30_000);
    expect(lookUp(send, { nowMs: 31_999 })).to.deep.equal([]);
    expect(lookUp(send, { nowMs: 32_000 })).to.deep.equal([0]);
  });

  it('waits longer after each upload that failed, and gives up after a while', () => {
    const send = mediaSend();
    expect(send.file.retry(0)).to.equal(true);
    expect(send.mayUpload(1_999)).to.equal(false);
    expect(send.mayUpload(2_000)).to.equal(true);
    let attempts = 1;
    while (send.file.retry(0)) attempts++;
    expect(attempts).to.equal(11);
    expect(send.takeUnsent()).to.deep.equal([0, 1]);
    expect(send.isDone).to.equal(true);
  });
});
