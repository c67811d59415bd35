import { takeInOpenSends } from '@gateway/sender/device/open-sends';
import { MAX_FOUND } from '@gateway/sender/scheduling/waiting-lists';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ADDRESS, useScheduler } from './support/scheduler-stage.js';

const LISTS = 5_000;
const CODES = 20;
/** At a time, codes among them. */
const PLACES = 150;

describe('a device with 5,000 open sends', () => {
  const stage = useScheduler();

  async function accept(count: number, kind: 'text' | 'otp'): Promise<void> {
    for (let from = 0; from < count; from += MAX_FOUND) {
      const some = Array.from({ length: Math.min(MAX_FOUND, count - from) }, (_, i) => from + i);
      await Promise.all(some.map((i) => stage.accept([`49151${kind.length}${String(i).padStart(6, '0')}`], { kind })));
    }
  }

  /** What was asked of the open sends, by command. */
  function countQuestions(): Record<string, number> {
    const counts: Record<string, number> = {};
    const { redis } = stage.store;
    for (const command of ['zrangebyscore', 'zmscore', 'zrange', 'getrangeBuffer'] as const) {
      const ask = redis[command].bind(redis) as (...args: unknown[]) => unknown;
      const counted = (...args: unknown[]) => {
        counts[command] = (counts[command] ?? 0) + 1;
        return ask(...args);
      };
      Object.assign(redis, { [command]: counted });
    }
    return counts;
  }

  it('sends codes first and lists in the order in which they were accepted, and knows a few at a time', async () => {
    await accept(LISTS, 'text');
    const accepted = await listOpenSends(stage.space.store, ADDRESS);
    await accept(CODES, 'otp');
    const ids = new Map(accepted.map((messageId, i) => [stage.tagOf(messageId), i]));
    expect(ids.size).to.equal(LISTS);

    const scheduler = stage.makeScheduler();
    const loaded: unknown[] = [];
    let mostKnown = 0;
    stage.steps.between = async (step, run) => {
      mostKnown = Math.max(mostKnown, scheduler.sends.ids().length);
      const reply = await run();
      if (step === 'take-in-sends') loaded.push(...(reply as unknown[]).filter((taken) => taken !== null));
      return reply;
    };
    const questions = countQuestions();
    await takeInOpenSends(scheduler.sends, { ...stage });
    // Codes take no place of a list.
    const known = PLACES + CODES;
    await eventually(() => scheduler.sends.inTurn().length === known, { everyMs: 1 });
    expect(scheduler.sends.ids()).to.have.length(known);
    scheduler.attach(stage.makeSession());
    await eventually(() => stage.sent.length === LISTS + CODES, { what: 'all sent' });

    const turns = stage.sent.map(({ platformId }) => ids.get(stage.ids.parse(platformId)!.tag) ?? 'code');
    expect(turns.slice(0, CODES).every((turn) => turn === 'code')).to.equal(true);
    const lists = turns.slice(CODES) as number[];
    expect(new Set(lists).size, 'each once').to.equal(LISTS);
    const lateness = Math.max(...lists.map((turn, i) => Math.abs(turn - i)));
    expect(lateness, 'places between a list and its turn').to.be.at.most(PLACES);

    await eventually(async () => (await listOpenSends(stage.space.store, ADDRESS)).length === 0);
    expect(mostKnown).to.be.at.most(known);
    expect(loaded, 'each is read once').to.have.length(LISTS + CODES);
    expect(questions.zrangebyscore, 'pages').to.be.at.most(LISTS / MAX_FOUND + 10);
    expect(questions.getrangeBuffer, 'heads and texts, of codes alone').to.be.at.most(2 * CODES);
    await eventually(() => scheduler.sends.ids().length === 0);
  });
});
