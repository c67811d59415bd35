import { ResendBudget, type ResendBudgetDeps } from '@gateway/messenger/sending/resend-budget';
import { expect } from 'chai';

const HOUR_MS = 60 * 60_000;

describe('the budget of messages that go out again', () => {
  let deps: ResendBudgetDeps & { now: number; saves: number };

  beforeEach(() => {
    deps = {
      now: 5 * HOUR_MS,
      saves: 0,
      creds: {} as ResendBudgetDeps['creds'],
      async saveCreds() {
        deps.saves += 1;
      },
      nowMs: () => deps.now,
    };
  });

  const takeAll = async (contacts: readonly string[], each: number) => {
    const budget = new ResendBudget(deps);
    for (const contact of contacts) expect(await budget.take(contact, each)).to.equal('granted');
  };

  it('is 20 for a contact and hour, counted by message', async () => {
    await takeAll(['a'], 19);
    const budget = new ResendBudget(deps);
    expect(await budget.take('a', 2)).to.equal('contact');
    expect(await budget.take('a', 1)).to.equal('granted');
    expect(await budget.take('b', 1)).to.equal('granted');
    expect(deps.saves, 'a refusal changes nothing').to.equal(3);
  });

  it('is 200 for an account and hour', async () => {
    await takeAll(
      Array.from({ length: 10 }, (_, index) => `contact ${index}`),
      20,
    );
    expect(await new ResendBudget(deps).take('another', 1)).to.equal('account');
    expect(deps.creds.resends?.counts).to.have.length(10);
  });

  it('is full again after an hour, and when the clock went backwards', async () => {
    await takeAll(['a'], 20);
    deps.now += HOUR_MS - 1;
    expect(await new ResendBudget(deps).take('a', 1)).to.equal('contact');
    deps.now += 1;
    await takeAll(['a'], 20);
    deps.now -= 1;
    await takeAll(['a'], 20);
  });

  it('counts requests that come together', async () => {
    const budget = new ResendBudget(deps);
    const verdicts = await Promise.all(Array.from({ length: 30 }, () => budget.take('a', 1)));
    expect(verdicts.filter((verdict) => verdict === 'granted')).to.have.length(20);
  });
});
