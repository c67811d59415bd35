import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { WebhookSettings } from '@gateway/contracts/webhooks/webhook';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { renewSessionOf } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 10_000 }, (_, i) => `49151${String(12_340_000 + i)}`);
const STEPS = ['acked', 'delivered', 'read'] as const;
const HOUR_MS = 3_600_000;

describe('requests to a webhook', () => {
  const { space, ownership, stage, relay, create, accept, record, rows } = useLoggedEndpoint();

  it('are 80 at most for a list of 10,000 at full speed', async () => {
    const tell = await create();
    const tag = await accept(PEOPLE);
    for (let from = 0; from < PEOPLE.length + 80; from += 40) {
      for (const [i, step] of STEPS.entries()) {
        const first = from - i * 40;
        if (first >= 0 && first < PEOPLE.length) await record(tag, step, first, first + 40);
      }
      // As long as 40 messages take.
      stage.aheadMs += 50;
      await tell();
    }
    stage.aheadMs += 30_000;
    expect(await tell()).to.equal('quiet');
    expect(rows().flat()).to.have.length(3 * PEOPLE.length);
    expect(stage.posted.length).to.be.at.most(80);
  });

  it('are 1,100 at most for a list of 10,000 at 20 a minute', async () => {
    // Eight hours of the network take two minutes here.
    const tell = await create();
    const tag = await accept(PEOPLE);
    for (let recipient = 0; recipient < PEOPLE.length; recipient++) {
      for (const step of STEPS) {
        stage.aheadMs += 1_000;
        await record(tag, step, recipient, recipient + 1);
      }
      if (recipient % 100 === 0) expect(await renewSessionOf(space.store, ownership, 60_000)).to.equal(true);
      await tell();
    }
    stage.aheadMs += 30_000;
    await tell();
    expect(rows().flat()).to.have.length(3 * PEOPLE.length);
    expect(stage.posted.length).to.be.at.most(1_100);
  });

  it('are 110 at most in a day in which it is dead, and then it gets 300,000 changes within two minutes, in order', async () => {
    const tell = await create();
    stage.status = 503;
    let changes = 0;
    const write = async (people: number) => {
      const tag = await accept(PEOPLE.slice(0, people));
      for (const step of STEPS) {
        for (let from = 0; from < people; from += 1_000) await record(tag, step, from, Math.min(from + 1_000, people));
      }
      changes += 3 * people;
      await relay();
    };
    for (let list = 0; list < 10; list++) await write(PEOPLE.length);
    const endMs = stage.aheadMs + 24 * HOUR_MS;
    const key = workspaceKeys(space, 'main').webhook(tell.id);
    stage.aheadMs += 30_000;
    while (stage.aheadMs < endMs) {
      expect(await tell()).to.equal('waiting');
      const { nextAttemptMs } = JSON.parse((await space.store.redis.hget(key, 'breaker'))!);
      stage.aheadMs = Math.max(stage.aheadMs + 1, nextAttemptMs - Date.now());
    }
    expect(stage.posted.length).to.be.within(90, 110);
    stage.status = 204;
    const startedAt = performance.now();
    await tell();
    expect(performance.now() - startedAt).to.be.below(120_000);
    const told = rows().flat();
    expect(told).to.have.length(changes);
    expect(new Set(told.map(({ id }) => id)).size).to.equal(changes);
    expectOrder(told);
  });

  const rowsIn = ({ data }: GatewayEvent) => ('changes' in data ? (data.changes as ChangeData[]).length : 1);
  const TYPES = ['messages.updated', 'otp.sent'];
  for (const [how, answer, settings = {}, mostTooLarge = 14] of [
    ['answers 503', () => 503],
    ['does not answer', () => 0],
    ['answers 503 and does not answer by turns', () => (stage.posted.length % 2 ? 503 : 0)],
    ['answers 503 to five at a time', () => 503, { types: [...TYPES, 'message.delivered'], concurrency: 5 }],
    ['answers 503 to twenty at a time', () => 503, { types: [...TYPES, 'message.delivered'], concurrency: 20 }],
    ['ends twenty connections at a time', () => 0, { types: [...TYPES, 'message.delivered'], concurrency: 20 }],
    // As a proxy does whose server is away.
    ['answers 413 to what is large, and 502 to all else', (event) => (rowsIn(event) > 4 ? 413 : 502)],
    [
      'answers 413 to each seventh, and 502 to all others',
      (event) => (stage.posted.length % 7 === 0 && rowsIn(event) > 1 ? 413 : 502),
      {},
      20,
    ],
  ] satisfies [string, (event: GatewayEvent) => number, Partial<WebhookSettings>?, number?][]) {
    it(`are 110 at most in a day in which it ${how}, with something to tell in each lane, and more all the while`, async () => {
      const tell = await create({ types: TYPES, gatherSeconds: 1, ...settings });
      const sendOtp = async (person: number) => record(await accept([PEOPLE[person]!], 'otp'), 'acked', 0, 1);
      const list = await accept(PEOPLE.slice(0, 600));
      await record(list, 'acked', 0, 600);
      stage.aheadMs += 2_000;
      await tell();
      const taken = stage.posted.length;
      const range = { afterMs: Date.now() - HOUR_MS, beforeMs: Date.now() + HOUR_MS };
      await replayWebhook(space.store, { workspace: 'main', id: tell.id }, range, Date.now() + stage.aheadMs);
      let tooLarge = 0;
      stage.refuses = (event) => {
        const status = answer(event);
        if (status === 413) tooLarge++;
        return status;
      };
      await record(list, 'delivered', 0, 600);
      for (let person = 600; person < 610; person++) await sendOtp(person);
      const endMs = stage.aheadMs + 24 * HOUR_MS;
      for (let step = 0; stage.aheadMs < endMs; step++) {
        if (step % 20 === 0) await sendOtp(700 + step / 20);
        await tell();
        stage.aheadMs += 30_000;
      }
      expect(stage.posted.length - taken - tooLarge).to.be.within(90, 110);
      // Of 500 rows, seven times halved in two of the lanes.
      expect(tooLarge).to.be.at.most(mostTooLarge);
      stage.refuses = () => false;
      stage.aheadMs += HOUR_MS / 2;
      await tell();
      await tell();
      const told = new Set(stage.events.filter(({ type }) => type === 'otp.sent').map(({ data }) => data.to));
      expect(told.size).to.equal(10 + 24 * 6);
    });
  }
});

/** Of each recipient `sent`, then `delivered`, then `read`. */
function expectOrder(rows: readonly ChangeData[]): void {
  const ranks = new Map<string, number>();
  for (const { messageId, index, status } of rows) {
    const name = `${messageId}/${index}`;
    const rank = ['sent', 'delivered', 'read'].indexOf(status);
    expect(rank, name).to.equal((ranks.get(name) ?? -1) + 1);
    ranks.set(name, rank);
  }
}
