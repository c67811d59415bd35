import { countOutcomes, type DemoResult, findFault, type SendOutcome } from '@gateway/scripts/demo/demo-result';
import { expect } from 'chai';

const NOTHING = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0, cancelled: 0 };
const delivery = { id: 'a', from: '1', text: 'hi', shown: 1 };
const outcome = (changes: Partial<SendOutcome>): SendOutcome => ({
  accepted: 2,
  counts: { ...NOTHING, read: 2 },
  recipients: ['10', '11'],
  text: 'hi',
  deliveries: [
    { ...delivery, to: '10' },
    { ...delivery, to: '11' },
  ],
  ...changes,
});

describe('the figures of the demo', () => {
  it('add up over all sends', () => {
    expect(countOutcomes([outcome({}), outcome({ counts: { ...NOTHING, sent: 1, failed: 1 } })])).to.deep.equal({
      accepted: 4,
      sent: 3,
      delivered: 2,
      read: 2,
      failed: 1,
      lost: 0,
      duplicates: 0,
    });
  });

  it('count a recipient as lost if the phone shows nothing, whatever the gateway reports', () => {
    expect(countOutcomes([outcome({ deliveries: [{ ...delivery, to: '10' }] })])).to.include({ lost: 1, read: 2 });
  });

  it('count a recipient whose phone shows the text twice, under one id or two', () => {
    const twice = [{ ...delivery, to: '10', shown: 2 }];
    const underTwoIds = [
      { ...delivery, to: '11' },
      { ...delivery, to: '11', id: 'b' },
    ];
    expect(countOutcomes([outcome({ deliveries: [...twice, ...underTwoIds] })])).to.include({ duplicates: 2, lost: 0 });
  });

  it('do not take the text of another send for this one', () => {
    const other = [{ ...delivery, to: '10', text: 'another' }];
    expect(countOutcomes([outcome({ deliveries: other })])).to.include({ lost: 2 });
  });

  it('find the fault, or none', () => {
    const good: DemoResult = {
      linked: true,
      pairedByCode: true,
      accepted: 2,
      sent: 2,
      delivered: 2,
      read: 2,
      failed: 0,
      lost: 0,
      duplicates: 0,
      told: 2,
      seconds: 1,
    };
    expect(findFault(good)).to.equal(undefined);
    expect(findFault({ ...good, lost: 1 })).to.include('lost');
    expect(findFault({ ...good, duplicates: 1 })).to.include('more than once');
    expect(findFault({ ...good, read: 1 })).to.include('not read');
    expect(findFault({ ...good, told: 1 })).to.include('were told');
    expect(findFault({ ...good, linked: false })).to.include('QR');
  });
});
