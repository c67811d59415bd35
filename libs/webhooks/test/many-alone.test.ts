import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { changeWebhook, readWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const STEP_S = 5;
const LATEST_S = 90;
const MINUTE = 60;
const personOf = (number: number) => `4477009${String(10_000 + number)}`;
const rowsOf = ({ data }: GatewayEvent) => (data.changes ?? [data]) as ChangeData[];

describe('an endpoint that refuses some events that are told alone, one after the other, and takes all others', () => {
  const { space, stage, create, accept, record } = useLoggedEndpoint();

  let people: number;
  let refused: Set<string>;
  let happenedMs: Map<string, number>;
  let lateS: number;
  let told: Set<string>;
  beforeEach(() => {
    people = 0;
    [refused, happenedMs, lateS, told] = [new Set(), new Map(), 0, new Set()];
  });

  const refuse = (how: boolean | number) => {
    stage.refuses = (event) => {
      const rows = rowsOf(event);
      if (rows.some(({ to }) => refused.has(to!))) return how;
      for (const { to } of rows) {
        told.add(to!);
        lateS = Math.max(lateS, (stage.aheadMs - happenedMs.get(to!)!) / 1_000);
      }
      return false;
    };
  };
  const send = async (kind: 'otp' | 'text', isRefused = false) => {
    const person = personOf(people++);
    if (isRefused) refused.add(person);
    happenedMs.set(person, stage.aheadMs);
    await record(await accept([person], kind), 'acked', 0, 1);
    return person;
  };
  const sendRefused = async (count: number, kind: 'otp' | 'text' = 'otp') => {
    for (let i = 0; i < count; i++) await send(kind, true);
  };
  /** @param every so often one is told that is fine. */
  const wait = async (run: () => Promise<string>, seconds: number, every = 0) => {
    for (let second = 0; second < seconds; second += STEP_S) {
      if (every > 0 && second > 0 && second % every === 0) await send('otp');
      await run();
      stage.aheadMs += STEP_S * 1_000;
    }
  };
  const expectOthersTold = async ({ id }: { id: string }) => {
    expect(lateS).to.be.at.most(LATEST_S);
    expect([...told].sort()).to.deep.equal([...happenedMs.keys()].filter((each) => !refused.has(each)).sort());
    expect((await readWebhook(space.store, 'main', id))!.status).to.equal('active');
    const parked = await listParked(space.store, { workspace: 'main', id }, { limit: 500 });
    expect(parked, 'all that it refuses, and nothing else').to.have.length(refused.size);
  };

  it('is told within 90 s of the first one, which it takes again after an outage, while it refuses all that comes behind it', async () => {
    const run = await create({ types: ['otp.sent', 'message.sent'] });
    const first = personOf(people);
    let toldMs = Number.POSITIVE_INFINITY;
    stage.refuses = ({ data }) => {
      if (stage.aheadMs < 30_000 || data.to !== first) return true;
      toldMs = stage.aheadMs;
      return false;
    };
    await send('otp');
    for (let second = 0; second < 3 * MINUTE; second += STEP_S) {
      if (second > 0 && second % MINUTE === 0) await send('text', true);
      await run();
      stage.aheadMs += STEP_S * 1_000;
    }
    expect(toldMs / 1_000).to.be.at.most(LATEST_S);
  });

  for (const [how, answer] of [
    ['with 422', true],
    ['with a reset connection', 0],
  ] as const) {
    for (const count of [6, 10]) {
      it(`is told of the others within 90 s: after ${count} that it answers ${how}`, async () => {
        const run = await create({ types: ['otp.sent'] });
        refuse(answer);
        await sendRefused(count);
        await wait(run, 20 * MINUTE, 30);
        await expectOthersTold(run);
      });
    }

    it(`is told of the next one within 90 s after a quiet quarter of an hour: after six that it answers ${how}`, async () => {
      const run = await create({ types: ['otp.sent'] });
      refuse(answer);
      await sendRefused(6);
      await wait(run, 15 * MINUTE);
      await send('otp');
      await wait(run, 15 * MINUTE);
      await expectOthersTold(run);
    });

    it(`is told of the others within 90 s: several requests at a time, after six that it answers ${how}`, async () => {
      const run = await create({ types: ['otp.sent'], concurrency: 10 });
      refuse(answer);
      await sendRefused(6);
      for (let i = 0; i < 20; i++) await send('otp');
      await wait(run, 20 * MINUTE, 30);
      await expectOthersTold(run);
    });
  }

  for (const concurrency of [1, 10]) {
    for (const every of [10, 2]) {
      it(`is told of the others within 90 s all the while: of ${every} it refuses one, ${concurrency} at a time`, async () => {
        const run = await create({ types: ['otp.sent'], concurrency });
        refuse(true);
        for (let second = 0; second < 10 * MINUTE; second += STEP_S) {
          for (let n = 0; n < 4; n++) await send('otp', people % every === 1);
          await wait(run, STEP_S);
        }
        await send('otp');
        await wait(run, MINUTE);
        await expectOthersTold(run);
      });
    }
  }

  const doubt = async (run: () => Promise<string>) => {
    refuse(true);
    await send('otp', true);
    for (let i = 0; i < 3; i++) await send('otp');
    await wait(run, MINUTE);
  };

  it('is told the others where they are, several at a time: only what it refuses is put aside', async () => {
    const run = await create({ types: ['otp.sent'], concurrency: 2 });
    await doubt(run);
    let most = 0;
    stage.take = async () => {
      const { length } = await listParked(space.store, { workspace: 'main', id: run.id }, { limit: 500 });
      most = Math.max(most, length);
    };
    await send('otp', true);
    for (let i = 0; i < 9; i++) await send('otp');
    await wait(run, MINUTE);
    expect(most).to.equal(refused.size);
    await expectOthersTold(run);
  });

  it('is told nothing behind what it refuses once the order is strict, though something was put aside a moment ago', async () => {
    const run = await create({ types: ['otp.sent'], concurrency: 2 });
    await doubt(run);
    for (let i = 0; i < 9; i++) await send('otp', i === 1);
    stage.refuses = () => 503;
    await run();
    await changeWebhook(space.store, 'main', run.id, { settings: { order: 'strict' } });
    refuse(true);
    await wait(run, 20 * MINUTE);
    const parked = await listParked(space.store, { workspace: 'main', id: run.id }, { limit: 500 });
    expect(parked, 'the first one, of before').to.have.length(1);
  });

  it('is told of one of another type within 90 s: after two hundred of a type of which it refuses all', async () => {
    const run = await create({ types: ['otp.sent', 'message.sent'] });
    refuse(true);
    await sendRefused(200);
    const another = await send('text');
    await wait(run, 3 * MINUTE);
    expect([...told]).to.deep.equal([another]);
    expect(lateS).to.be.at.most(LATEST_S);
  });
});

describe('an endpoint that refuses what a lane has to tell alone', () => {
  const { stage, create, accept, record } = useLoggedEndpoint();
  const PEOPLE = Array.from({ length: 400 }, (_, i) => `49151123${String(40_000 + i)}`);

  for (const gatherSeconds of [5, 30]) {
    for (const [name, every] of [
      ['once', 3_600],
      ['again each minute', 60],
    ] as const) {
      it(`is told the changes of a list within 90 s all the while: ${name}, changes gathered for ${gatherSeconds} s`, async () => {
        const run = await create({ types: ['messages.updated', 'otp.sent'], gatherSeconds });
        const tag = await accept(PEOPLE);
        const happenedMs: number[] = [];
        let lateS = 0;
        let count = 0;
        stage.refuses = (event) => {
          if (event.type === 'otp.sent') return true;
          for (const { index } of rowsOf(event)) {
            count++;
            lateS = Math.max(lateS, (stage.aheadMs - happenedMs[index!]!) / 1_000);
          }
          return false;
        };
        for (let second = 0; second < 20 * MINUTE; second += STEP_S) {
          if (second % every === MINUTE % every) await record(await accept([personOf(second)], 'otp'), 'acked', 0, 1);
          const index = happenedMs.push(stage.aheadMs) - 1;
          await record(tag, 'acked', index, index + 1);
          await run();
          stage.aheadMs += STEP_S * 1_000;
        }
        expect(lateS).to.be.at.most(LATEST_S);
        expect(happenedMs.length - count, 'what is not told yet').to.be.at.most(LATEST_S / STEP_S);
      });
    }
  }

  it('gets the time that it asks for (Retry-After) when it is told what another lane has instead', async () => {
    const run = await create({ types: ['messages.updated', 'otp.sent'], gatherSeconds: 1 });
    stage.refuses = () => true;
    const postedMs: number[] = [];
    stage.asksFor = (event) => (event.type === 'otp.sent' ? 0 : 10 * MINUTE);
    stage.take = async (event) => {
      if (event.type !== 'otp.sent' || postedMs.length > 0) postedMs.push(Date.now() + stage.aheadMs);
    };
    await record(await accept([personOf(0)], 'otp'), 'acked', 0, 1);
    await record(await accept([personOf(1)], 'otp'), 'acked', 0, 1);
    await run();
    await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
    for (let second = 0; second < 30 * MINUTE && postedMs.length < 2; second += 1) {
      stage.aheadMs += 1_000;
      await run();
    }
    expect(postedMs[1]! - postedMs[0]!).to.be.at.least(10 * MINUTE * 1_000);
  });
});

describe('what is passed when something far behind what is refused is taken', () => {
  const endpoint = useEndpoint();
  const RECIPIENTS = 100;
  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
  const rest = async (seconds: number) => {
    for (let second = 0; second < seconds; second += STEP_S) {
      await endpoint.deliverAll();
      endpoint.nowMs += STEP_S * 1_000;
    }
  };

  it('is told within 90 s, in the order of each recipient, and nothing twice', async () => {
    endpoint.isAlone = true;
    endpoint.keyOf = (number) => `k${number % RECIPIENTS}`;
    const refused = numbers(40);
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((each) => refused.includes(each)) ? 422 : 204);
    for (const number of numbers(250)) await endpoint.write(number);
    await rest(90);
    const others = numbers(250).filter((number) => number % RECIPIENTS >= refused.length);
    expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal(others);
    for (const of of numbers(RECIPIENTS)) {
      const ofOne = endpoint.told.filter((number) => number % RECIPIENTS === of);
      expect(ofOne).to.deep.equal([...ofOne].sort((one, other) => one - other));
    }
    expect(await endpoint.status()).to.equal('active');
    refused.length = 0;
    endpoint.nowMs += 24 * 3_600_000;
    await rest(30);
    expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal(numbers(250));
  });

  it('is no reason to ask again at once for what is refused as well, where there is nothing else to tell', async () => {
    endpoint.isAlone = true;
    endpoint.keyOf = (number) => `k${number}`;
    const refused = [0, 3];
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((each) => refused.includes(each)) ? 422 : 204);
    for (const number of numbers(3)) await endpoint.write(number);
    await rest(60);
    await endpoint.write(3);
    await endpoint.deliverAll({ goesOnMs: 1_000 });
    expect(endpoint.received.filter(({ numbers }) => numbers.includes(3))).to.have.length(1);
  });

  it('does not wait for all that is refused before it, also where nothing else happens', async () => {
    endpoint.isAlone = true;
    endpoint.keyOf = (number) => `k${number}`;
    const refused = numbers(60);
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((each) => refused.includes(each)) ? 422 : 204);
    for (const number of numbers(80)) await endpoint.write(number);
    await rest(10 * MINUTE);
    expect([...endpoint.told].sort((one, other) => one - other)).to.deep.equal(numbers(20, 60));
  });
});
