import type { LogFields, Logger } from '@gateway/runtime/logs/logger';
import { FailureLines } from '@gateway/sender/reporting/failure-lines';
import type { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { expect } from 'chai';

describe('the log of messages that went wrong', () => {
  let written: [string, LogFields | undefined][];
  let lines: FailureLines;
  beforeEach(() => {
    written = [];
    lines = new FailureLines({
      warn: (sentence: string, fields?: LogFields) => written.push([sentence, fields]),
    } as Partial<Logger> as Logger);
  });
  const send = (messageId: string) => ({ messageId, record: { requestId: `request of ${messageId}` } }) as SendProgress;
  const refuse = (messageId: string, code: number, nowMs = 0) =>
    lines.count(send(messageId), { sentence: 'refused', reason: code, fields: { networkCode: code }, nowMs });

  it('has one line for each send and code when the send is over', () => {
    for (let i = 0; i < 10_000; i++) refuse('a', i % 2 === 0 ? 403 : 404);
    refuse('b', 403);
    expect(written).to.deep.equal([]);
    lines.end(send('a'));
    const fields = { messageId: 'a', requestId: 'request of a', recipients: 5_000 };
    expect(written).to.deep.equal([
      ['refused', { ...fields, networkCode: 403 }],
      ['refused', { ...fields, networkCode: 404 }],
    ]);
    lines.end(send('a'));
    expect(written).to.have.length(2);
  });

  it('does not wait for the end of a long send, nor lose what is left when the device moves on', () => {
    refuse('a', 403);
    refuse('a', 403, 59_999);
    lines.tick(59_999);
    expect(written).to.deep.equal([]);
    lines.tick(60_000);
    refuse('a', 403, 60_000);
    lines.writeAll();
    expect(written.map(([, fields]) => fields?.recipients)).to.deep.equal([2, 1]);
  });
});
