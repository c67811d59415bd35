import { RECIPIENT_STATUSES, type StatusCounts } from '@gateway/contracts/statuses';
import { OpenSend } from '@gateway/sender/open-send';
import { type PreparationDeps, SendPreparation } from '@gateway/sender/send-preparation';
import { expect } from 'chai';

const counts = Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, 0])) as StatusCounts;

describe('holding recipients back', () => {
  it('lets them go when the restriction has ended before they were all marked', async () => {
    const send = new OpenSend({
      record: {
        ...{ messageId: 'msg_1', tag: '0', state: 'open', kind: 'text', total: 3, parts: 1 },
        ...{ tokenId: 't', requestId: 'r', createdAtMs: 0, expiresAtMs: 1, counts },
      },
      recipients: [0, 1, 2].map((index) => ({
        ...{ index, to: `49151000000${index}`, status: 'queued', tries: 0, errorCode: 0, atMs: 0 },
        ...{ partsInFlight: 0, partsInDoubt: 0, partsAcked: 0 },
      })),
      content: { kind: 'text', text: 'hello' },
      finish: () => {},
    });
    const hold = { isOn: true };
    const deps = {
      hold,
      metrics: { countHeld: () => {} },
      results: {
        write: async (_tag: string, { recipient }: { recipient: number }) => {
          if (recipient === 1) hold.isOn = false;
          return recipient === 2 ? 'cancelled' : 'queued';
        },
      },
    } as unknown as PreparationDeps;
    const [a, b, c] = send.takeForLookUp(10, 0).map(({ index }) => index);
    await new SendPreparation(deps).holdBack(send, [a!, b!, c!]);
    expect(send.isHeld).to.equal(false);
    expect(send.takeForLookUp(10, 0).map(({ index }) => index)).to.deep.equal([0, 1]);
  });
});
