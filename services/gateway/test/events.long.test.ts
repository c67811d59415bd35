import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { sleep } from '@gateway/runtime/clock';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491600000079';
const LIST = 800;
const RANKS: readonly string[] = RECIPIENT_STATUSES;

describe('events, while what brings them is killed again and again', function () {
  this.timeout(180_000);
  const fixture = useGateway({ senders: 1, env: { SESSION_TTL_MS: '2000' } });

  /** Reads page by page from a cursor on, until `isDone`. */
  async function readAll(token: string, from: string, isDone: (events: readonly GatewayEvent[]) => boolean) {
    const events: GatewayEvent[] = [];
    for (let cursor = from; !isDone(events); ) {
      const answer = await fetch(`${fixture.gateway.baseUrl}/events?after=${cursor}&limit=40&wait=5`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const page = (await answer.json()) as { events: GatewayEvent[]; nextCursor: string; resetIn?: number };
      if (answer.status === 429) {
        await sleep((page.resetIn ?? 1) * 1000);
        continue;
      }
      expect(answer.status, JSON.stringify(page)).to.equal(200);
      events.push(...page.events);
      cursor = page.nextCursor;
    }
    return events;
  }
  const rowsOf = (events: readonly GatewayEvent[]) =>
    events.flatMap(({ type, data }) => (type === 'messages.updated' ? (data.changes as ChangeData[]) : []));

  it('none is lost, none told twice, none invented, and each recipient hears of itself in order', async () => {
    const { gateway, space } = fixture;
    await gateway.link(ACCOUNT);
    const { value: token } = await createApiToken(space.store, 'main', { name: 'reader', scopes: ['events'] });
    const begin = await fetch(`${gateway.baseUrl}/events`, { headers: { authorization: `Bearer ${token}` } });
    const { nextCursor } = (await begin.json()) as { nextCursor: string };
    const people = makeNumbers(LIST, 12);
    const messageId = await fixture.send(people, 'hello');
    const reading = readAll(token, nextCursor, (events) => {
      const read = new Set(
        rowsOf(events)
          .filter(({ status }) => status === 'read')
          .map(({ index }) => index),
      );
      return read.size === LIST && events.some(({ type }) => type === 'send.finished');
    });
    let isRead = false;
    void reading.then(() => (isRead = true));
    for (let round = 0; round < 6 || !isRead; round++) {
      const [first, second] = await Promise.all([gateway.addEvents(), gateway.addEvents()]);
      await sleep(100 + Math.random() * 400);
      first!.signal('SIGSTOP');
      if (round === 1) {
        await gateway.senders[0]!.kill();
        await gateway.addSender();
      }
      await second!.kill();
      first!.signal('SIGCONT');
      await sleep(Math.random() * 300);
      if (round < 6) await first!.kill();
    }
    const events = await reading;
    const rows = rowsOf(events);
    const stored = await gateway.waitForSend(messageId, { read: LIST });
    expect(stored.counts.read).to.equal(LIST);
    expect(new Set(rows.map(({ id }) => id)).size, 'each change once').to.equal(rows.length);
    for (const index of people.keys()) {
      const heard = rows.filter((row) => row.index === index);
      expect(heard.every(({ to, messageId: of }) => to === people[index] && of === messageId)).to.equal(true);
      const ranks = heard.map(({ status }) => RANKS.indexOf(status));
      expect(ranks, String(index)).to.deep.equal([...ranks].sort());
      expect(heard.at(-1)!.status).to.equal('read');
    }
    expect(rows.every(({ index }) => index < LIST)).to.equal(true);
    const finished = events.filter(({ type }) => type === 'send.finished');
    expect(finished.map(({ data }) => data.recipients)).to.deep.equal([LIST]);
  });
});
