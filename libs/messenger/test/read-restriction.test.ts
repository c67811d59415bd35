import type { BaileysSocket } from '@gateway/messenger/baileys';
import { readRestriction } from '@gateway/messenger/read-restriction';
import { expect } from 'chai';

type Lock = Awaited<ReturnType<BaileysSocket['fetchAccountReachoutTimelock']>>;
type Quota = Awaited<ReturnType<BaileysSocket['fetchNewChatMessageCap']>>;

describe('what the network restricts', () => {
  const untilMs = 1_800_000_000_000;
  const locked = { isActive: true, timeEnforcementEnds: new Date(untilMs) } as Lock;
  const unlocked = { isActive: false } as Lock;
  const capped = { capping_status: 'CAPPED', cycle_end_timestamp: untilMs / 1000 + 60 } as unknown as Quota;
  const uncapped = { capping_status: 'NONE' } as unknown as Quota;

  /** As the library fails: an error node has its code in `data`, whatever else it throws a status of its own. */
  const errorNode = (code: number) => Object.assign(new Error('refused'), { data: code, output: { statusCode: 500 } });
  const ownError = (statusCode: number) => Object.assign(new Error('no answer'), { data: {}, output: { statusCode } });

  function ask(lock: Lock | Error, quota: Quota | Error) {
    const sock = {
      fetchAccountReachoutTimelock: () => answer(lock),
      fetchNewChatMessageCap: () => answer(quota),
    } as Partial<BaileysSocket> as BaileysSocket;
    return readRestriction(sock, new AbortController().signal);
  }
  const failureOf = (asked: Promise<unknown>) =>
    asked.then(
      (said) => expect.fail(`it took ${JSON.stringify(said)} for an answer`),
      (thrown: unknown) => thrown,
    );

  it('is a lock or a quota, whichever ends later, or nothing', async () => {
    expect(await ask(unlocked, uncapped)).to.equal(undefined);
    expect(await ask(locked, uncapped)).to.deep.equal({ kind: 'reach_out_time_lock', untilMs });
    expect(await ask(locked, capped)).to.deep.equal({ kind: 'new_chat_cap', untilMs: untilMs + 60_000 });
    const endless = { isActive: true, timeEnforcementEnds: undefined } as unknown as Lock;
    expect(await ask(endless, capped)).to.deep.equal({ kind: 'reach_out_time_lock' });
  });

  it('has no limit of a kind that the network does not know', async () => {
    for (const code of [401, 403, 404, 405, 406, 422, 451]) {
      expect(await ask(unlocked, errorNode(code)), `${code}`).to.equal(undefined);
      expect(await ask(errorNode(code), uncapped), `${code}`).to.equal(undefined);
      expect(await ask(locked, ownError(code)), `${code}`).to.include({ kind: 'reach_out_time_lock' });
    }
  });

  it('is not known when a question was not answered: that is no word of the network', async () => {
    const failures = [
      ...[408, 429, 500, 502, 503, 504].map(errorNode),
      // An answer that it does not understand, no answer in time, a closed connection.
      ...[400, 408, 428, 500].map(ownError),
      new Error('what nobody expects'),
    ];
    for (const failure of failures) {
      expect(await failureOf(ask(failure, uncapped)), failure.message).to.equal(failure);
      expect(await failureOf(ask(unlocked, failure)), failure.message).to.equal(failure);
    }
  });

  it('is not known when the network knows neither of them', async () => {
    expect(await failureOf(ask(errorNode(404), errorNode(403)))).to.include({ code: 'unknown_limits' });
  });
});

async function answer<Said>(said: Said | Error): Promise<Said> {
  if (said instanceof Error) throw said;
  return said;
}
