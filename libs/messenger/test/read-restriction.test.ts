import type { RestrictionKind } from '@gateway/contracts/devices/restriction';
import { readRestriction } from '@gateway/messenger/codes/read-restriction';
import type { BaileysSocket, BinaryNode } from '@gateway/messenger/socket/baileys';
import { expect } from 'chai';

const LOCK = '23983697327930364';
const QUOTA = '27910975521856601';
const FORMER_QUOTA = '24503548349331633';

type Data = Record<string, unknown>;

describe('what the network restricts', () => {
  const untilMs = 1_800_000_000_000;
  const locked = { is_active: true, time_enforcement_ends: String(untilMs / 1000) };
  const unlocked = { is_active: false, time_enforcement_ends: '0' };
  const capped = { capping_status: 'CAPPED', cycle_end_timestamp: String(untilMs / 1000 + 60) };
  const uncapped = { capping_status: 'NONE', cycle_end_timestamp: '0' };

  /** As the library fails: an error node has its code in `data`, whatever else it throws a status of its own. */
  const errorNode = (code: number) => Object.assign(new Error('refused'), { data: code, output: { statusCode: 500 } });
  const ownError = (statusCode: number) => Object.assign(new Error('no answer'), { data: {}, output: { statusCode } });
  /** What the GraphQL service says inside a good answer. */
  const graphQlError = (code: number) => ({
    data: { xwa2_message_capping_info: null, xwa2_fetch_account_reachout_timelock: null },
    errors: [{ message: 'no', extensions: { error_code: code } }],
  });

  const asked: { queryId: string; variables: unknown }[] = [];
  function ask(lock: Data | Error, quota: Data | Error, { about }: { about?: RestrictionKind | undefined } = {}) {
    asked.length = 0;
    const query = async ({ content }: BinaryNode) => {
      const [{ attrs, content: body }] = content as [BinaryNode];
      asked.push({ queryId: attrs.query_id!, variables: JSON.parse(String(body)).variables });
      const [said, field] =
        attrs.query_id === LOCK ? [lock, 'xwa2_fetch_account_reachout_timelock'] : [quota, 'xwa2_message_capping_info'];
      if (said instanceof Error) throw said;
      return resultOf('errors' in said ? said : { data: { [field]: said } });
    };
    const sock = { query } as unknown as BaileysSocket;
    return readRestriction(sock, new AbortController().signal, about);
  }
  const failureOf = (asking: Promise<unknown>) =>
    asking.then(
      (said) => expect.fail(`it took ${JSON.stringify(said)} for an answer`),
      (thrown: unknown) => thrown,
    );
  const closed = ownError(428);
  const silences = [
    ...[408, 429, 500, 502, 503, 504].map(errorNode),
    // An answer that it does not understand, no answer in time, a closed connection.
    ...[400, 408, 500].map(ownError),
    closed,
    new Error('an unexpected one'),
  ];

  it('is a lock or a quota, whichever ends later, or nothing', async () => {
    expect(await ask(unlocked, uncapped)).to.equal(undefined);
    expect(await ask(locked, uncapped)).to.deep.equal({ kind: 'reach_out_time_lock', untilMs });
    expect(await ask(locked, capped)).to.deep.equal({ kind: 'new_chat_cap', untilMs: untilMs + 60_000 });
    const endless = { is_active: true, time_enforcement_ends: '0' };
    expect(await ask(endless, capped)).to.deep.equal({ kind: 'reach_out_time_lock' });
  });

  it('asks for the quota as the web client does, and takes numbers in digits or as numbers', async () => {
    const numeric = { capping_status: 'CAPPED', cycle_end_timestamp: untilMs / 1000, used_quota: 5 };
    expect(await ask(unlocked, numeric)).to.deep.equal({ kind: 'new_chat_cap', untilMs });
    expect(asked).to.deep.include({
      queryId: QUOTA,
      variables: { input: { type: 'INDIVIDUAL_NEW_CHAT_THREAD' } },
    });
    await ask(unlocked, errorNode(404));
    expect(asked.map(({ queryId }) => queryId)).to.deep.equal([LOCK, QUOTA, FORMER_QUOTA]);
  });

  it('has no limit of a kind that the network does not know', async () => {
    for (const code of [401, 403, 404, 405, 406, 422, 451]) {
      for (const about of [undefined, 'reach_out_time_lock', 'new_chat_cap'] as const) {
        expect(await ask(unlocked, errorNode(code), { about }), `${code}`).to.equal(undefined);
        expect(await ask(errorNode(code), uncapped, { about }), `${code}`).to.equal(undefined);
      }
      expect(await ask(locked, ownError(code)), `${code}`).to.include({ kind: 'reach_out_time_lock' });
    }
  });

  it('takes one answer for enough: that about the limit a message was refused for, or any without a refusal', async () => {
    // After the end of a connection nothing is asked any more.
    const others = silences.filter((failure) => failure !== closed);
    for (const failure of [...others, graphQlError(500)]) {
      expect(await ask(unlocked, failure, { about: 'reach_out_time_lock' })).to.equal(undefined);
      expect(await ask(failure, uncapped, { about: 'new_chat_cap' })).to.equal(undefined);
      expect(await ask(unlocked, failure)).to.equal(undefined);
      expect(await ask(failure, uncapped)).to.equal(undefined);
      expect(await ask(locked, failure, { about: 'new_chat_cap' })).to.include({ kind: 'reach_out_time_lock' });
      expect(await ask(failure, capped, { about: 'reach_out_time_lock' })).to.include({ kind: 'new_chat_cap' });
    }
  });

  it('is not known when the question in doubt was not answered: that is no word of the network', async () => {
    for (const failure of silences) {
      const quota = await failureOf(ask(unlocked, failure, { about: 'new_chat_cap' }));
      expect(quota, failure.message).to.equal(failure);
      const lock = await failureOf(ask(failure, uncapped, { about: 'reach_out_time_lock' }));
      expect(lock, failure.message).to.equal(failure);
      expect(await failureOf(ask(failure, failure)), failure.message).to.equal(failure);
    }
  });

  it('is never a lock because the service failed inside an answer', async () => {
    expect(await failureOf(ask(graphQlError(500), graphQlError(500)))).to.include({ networkCode: 500 });
    expect(await ask(unlocked, graphQlError(403), { about: 'new_chat_cap' })).to.equal(undefined);
    const odd = { data: { xwa2_fetch_account_reachout_timelock: 'no object' }, errors: [] };
    expect(await failureOf(ask(odd, errorNode(500)))).to.include({ networkCode: 400 });
  });

  it('is not known when the network knows neither of them', async () => {
    expect(await failureOf(ask(errorNode(404), errorNode(403)))).to.include({ code: 'unknown_limits' });
  });
});

function resultOf(body: unknown): BinaryNode {
  const result = { tag: 'result', attrs: {}, content: Buffer.from(JSON.stringify(body)) };
  return { tag: 'iq', attrs: { type: 'result' }, content: [result] };
}
