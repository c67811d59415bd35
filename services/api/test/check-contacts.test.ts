import { deviceKeys } from '@gateway/contracts/redis-keys';
import { askOwner, takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { answerContacts, type ContactAnswers } from './support/answer-contacts.js';
import { DEFAULT } from './support/device-owner.js';
import type { Answer } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const [KNOWN, UNKNOWN, UNTOLD] = ['447700900001', '447700900002', '447700900003'] as const;
const FACTS: Record<string, boolean | null> = { [KNOWN]: true, [UNKNOWN]: false, [UNTOLD]: null };
const makePhones = (count: number) => Array.from({ length: count }, (_, i) => String(447_700_000_000 + i));

function useChecks(waits: { takenMs: number; contactsMs: number }) {
  const { space, api, owner } = useTestApi({ linked: true, contactChecksPerDay: 1_200, waits });
  let sender: ContactAnswers | undefined;
  afterEach(() => {
    sender?.close();
    sender = undefined;
  });
  const answer = async (facts?: Parameters<typeof answerContacts>[2]) => {
    sender = await answerContacts(space, owner, facts);
    return sender;
  };
  const answerAll = () =>
    answer((number) => ({
      onMessenger: number in FACTS ? FACTS[number]! : true,
      hasConversation: number === KNOWN,
    }));
  const check = (phones: unknown, token = api.token): Promise<Answer> =>
    api.call('POST', '/contacts/check', { token, json: { phones } });
  return { space, api, owner, check, answer, answerAll };
}

describe('POST /contacts/check', () => {
  const { space, api, owner, check, answerAll } = useChecks({ takenMs: 5_000, contactsMs: 10_000 });
  it('tells of each number, in their order, each once', async () => {
    const sender = await answerAll();
    await addOptOuts(space.store, 'main', { numbers: [UNKNOWN], source: 'api', atMs: Date.now() });
    const { status, body } = await check([UNTOLD, '+44 7700 900-001', KNOWN, UNKNOWN]);
    expect(status).to.equal(200);
    expect(body.results).to.deep.equal([
      { phone: UNTOLD, onMessenger: null, optedOut: false, hasConversation: false },
      { phone: KNOWN, onMessenger: true, optedOut: false, hasConversation: true },
      { phone: UNKNOWN, onMessenger: false, optedOut: true, hasConversation: false },
    ]);
    expect(sender.asked).to.deep.equal([[UNTOLD, KNOWN, UNKNOWN]]);
  });

  it('keeps opt-outs from a token of one device', async () => {
    await answerAll();
    const { value } = await api.newToken({ device: 'default' });
    const { body } = await check([KNOWN], value);
    expect(body.results).to.deep.equal([{ phone: KNOWN, onMessenger: true, hasConversation: true }]);
  });

  it('refuses the whole request for one bad number, and says which; nothing is asked', async () => {
    const sender = await answerAll();
    const { status, body } = await check([KNOWN, '12', KNOWN, 17]);
    expect(status).to.equal(400);
    expect((body.details as { path: unknown[] }[]).map(({ path }) => path)).to.deep.equal([
      ['phones', 1],
      ['phones', 3],
    ]);
    for (const phones of [[], KNOWN, undefined, makePhones(1_001)]) {
      const refused = await check(phones);
      expect(refused.status).to.equal(400);
      expect((refused.body.details as { path: unknown[] }[])[0]!.path).to.deep.equal(['phones']);
    }
    expect(sender.asked).to.deep.equal([]);
  });

  it('takes 1,000 numbers, up to the cap of the day, which is counted over all tokens', async () => {
    await answerAll();
    const first = await check(makePhones(1_000));
    expect(first.status).to.equal(200);
    expect(first.body.results).to.have.length(1_000);
    const { value } = await api.newToken({ device: 'default' });
    const refused = await check(makePhones(201), value);
    expect(refused.status).to.equal(429);
    expect(refused.body.error).to.equal('Daily limit of contact checks reached');
    expect(refused.body.resetIn).to.be.within(1, 86_400);
    expect(refused.headers.get('retry-after')).to.equal(String(refused.body.resetIn));
    expect((await check(makePhones(200), value)).status, 'what was refused does not count').to.equal(200);
  });

  it('is 409 without a linked account', async () => {
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    expect((await check([KNOWN])).status).to.equal(409);
  });

  it('counts nothing when the sender has too many questions', async () => {
    const refuseOne = async () => {
      const questions = await eventually(async () => {
        const taken = await takeQuestions(space.store, owner.ownership);
        return taken.length > 0 && taken;
      });
      await writeOwnerAnswer(space.store, owner.ownership, { id: questions[0]!.id, part: 'refused', value: 'busy' });
    };
    const [refused] = await Promise.all([check(makePhones(1_000)), refuseOne()]);
    expect([refused.status, refused.body.error]).to.deep.equal([503, 'Service unavailable']);
    await answerAll();
    expect((await check(makePhones(1_000))).status).to.equal(200);
  });
});

describe('POST /contacts/check of a sender that does not answer in time', () => {
  const { space, check, answer } = useChecks({ takenMs: 5_000, contactsMs: 200 });

  it('answers null for what was not told in time, and leaves nothing in Redis', async () => {
    await answer();
    const { status, body } = await check([KNOWN]);
    expect(status).to.equal(200);
    expect(body.results).to.deep.equal([{ phone: KNOWN, onMessenger: null, optedOut: false, hasConversation: null }]);
    const { base, contactChecks } = deviceKeys(space.store.space, DEFAULT);
    const left = await space.clients.commands.keys(`${base}:*`);
    expect(left.filter((key) => /:(answer|questions)/.test(key))).to.deep.equal([]);
    const counter = left.filter((key) => key.startsWith(contactChecks(0).slice(0, -1)));
    expect(counter).to.have.length(1);
    expect(await space.clients.commands.pttl(counter[0]!)).to.be.above(0);
  });
});

describe('POST /contacts/check without a sender', () => {
  const { space, check, answerAll } = useChecks({ takenMs: 500, contactsMs: 10_000 });

  it('is 503 within the time that a sender has to take the question', async () => {
    const startedMs = performance.now();
    const { status, body, headers } = await check([KNOWN]);
    expect(status).to.equal(503);
    expect(body.error).to.equal('No sender available');
    expect(headers.get('retry-after')).to.equal('10');
    expect(performance.now() - startedMs).to.be.below(4_000);
  });

  it('counts nothing when no sender takes the question', async () => {
    expect((await check(makePhones(1_000))).status).to.equal(503);
    await answerAll();
    expect((await check(makePhones(1_000))).status).to.equal(200);
    expect((await check(makePhones(201))).status, 'what was answered counts').to.equal(429);
  });

  it('refuses callers beyond the twenty who can wait', async () => {
    const wait = (id: number) =>
      askOwner(space.store, DEFAULT, { id: `ask_${id}`, question: { kind: 'contacts', numbers: [KNOWN] } });
    for (let id = 0; id < 20; id++) expect(await wait(id)).to.equal('asked');
    const { status, body } = await check([KNOWN]);
    expect([status, body.error]).to.deep.equal([503, 'Service unavailable']);
  });

  it('is asked sealed, and lives for seconds', async () => {
    const { questions } = deviceKeys(space.store.space, DEFAULT);
    const answer = check([KNOWN]);
    const read = async () => {
      const [seen, ttlMs] = (await space.clients.commands.multi().hgetall(questions).pttl(questions).exec())!;
      return { seen: JSON.stringify(seen![1]), ttlMs: ttlMs![1] };
    };
    const { seen, ttlMs } = await eventually(
      async () => {
        const now = await read();
        return now.seen !== '{}' && now;
      },
      { everyMs: 1 },
    );
    expect(seen).not.to.include(KNOWN);
    expect(ttlMs).to.be.within(1, 30_000);
    await answer;
  });
});
