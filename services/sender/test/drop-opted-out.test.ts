import type { LookUpResult, MessengerSession } from '@gateway/messenger/session/session-types';
import { identify } from '@gateway/sender/preparing/drop-opted-out';
import type { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { expect } from 'chai';

const TYPED = '5531987654321';
const LIST = { record: { kind: 'text', priority: 'bulk' } } as SendProgress;
const OTP = { record: { kind: 'text', priority: 'otp' } } as SendProgress;

describe('who a recipient is, as they are claimed', () => {
  let known: boolean;
  let isNamed: boolean;
  let answer: LookUpResult | Error;
  beforeEach(() => {
    [known, isNamed, answer] = [false, true, { exists: true }];
  });

  const session: Pick<MessengerSession, 'lookUp' | 'numberOf' | 'hiddenIdOf' | 'namedHiddenIdOf'> = {
    lookUp: async (numbers) => {
      if (answer instanceof Error) throw answer;
      known = true;
      return new Map(numbers.map((number) => [number, answer as LookUpResult]));
    },
    numberOf: (number) => (known ? '553187654321' : number),
    hiddenIdOf: async () => (known ? '17@lid' : undefined),
    namedHiddenIdOf: () => (known && isNamed ? '17@lid' : undefined),
  };

  it('is asked for when it was forgotten: all their names count', async () => {
    const person = await identify(session, LIST, TYPED);
    expect(person).to.deep.equal({ kind: 'named', numbers: [TYPED, '553187654321'], hiddenId: '17@lid' });
  });

  it('is told apart from what only the keys say', async () => {
    isNamed = false;
    expect(await identify(session, LIST, TYPED)).to.include({ hiddenId: undefined, storedHiddenId: '17@lid' });
  });

  it('is not known when the network does not tell, or the session has ended: nothing is sent', async () => {
    for (const each of [{ error: 408 }, { exists: false } as const, new Error('ended')]) {
      answer = each;
      expect(await identify(session, LIST, TYPED)).to.equal(undefined);
    }
  });

  it('does not matter for a code', async () => {
    expect(await identify(session, OTP, TYPED)).to.deep.equal({ kind: 'exempt' });
    expect(known, 'no person was asked about').to.equal(false);
  });
});
