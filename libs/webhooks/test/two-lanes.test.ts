import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 12 }, (_, i) => `49151123${String(40_000 + i)}`);
const REFUSED = PEOPLE[0]!;
const ANOTHER = '447700900001';
const STEP_S = 5;

const rowsOf = ({ data }: GatewayEvent) => (data.changes ?? [data]) as ChangeData[];

describe('a recipient whom an endpoint refuses, in a list and then in a small send', () => {
  const { stage, create, accept, record } = useLoggedEndpoint();
  for (const type of ['messages.updated', 'message.sent']) {
    it(`holds up the others of both lanes for 90 s at most: ${type}`, async () => {
      const run = await create({ types: [type], gatherSeconds: 1 });
      let refusals = 0;
      const told = new Set<string>();
      stage.refuses = (event) => {
        const rows = rowsOf(event);
        const isRefused = rows.some(({ to }) => to === REFUSED);
        if (isRefused) refusals++;
        else for (const { to } of rows) told.add(to!);
        return isRefused;
      };
      await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
      stage.aheadMs += 2_000;
      await run();
      stage.aheadMs += STEP_S * 1_000;
      await run();
      expect(refusals, 'the list is refused twice').to.equal(2);
      await record(await accept([REFUSED]), 'acked', 0, 1);
      await record(await accept([ANOTHER]), 'acked', 0, 1);
      const others = [...PEOPLE.slice(1), ANOTHER];
      let seconds = 0;
      while (!others.every((each) => told.has(each)) && seconds < 600) {
        stage.aheadMs += STEP_S * 1_000;
        seconds += STEP_S;
        // All the while something happens to other people, too.
        await record(await accept([`4477009${String(10_000 + seconds)}`]), 'acked', 0, 1);
        await run();
      }
      expect(seconds).to.be.at.most(90);
    });
  }
});

describe('a code and a recipient of a list that an endpoint refuses', () => {
  const { stage, create, accept, record } = useLoggedEndpoint();
  for (const [first, laterSeconds] of [
    ['at once', 0],
    ['while the code is tried again', 5],
    ['when the code has failed often', 25],
  ] as const) {
    it(`hold up all others for 90 s at most: the list comes ${first}`, async () => {
      const run = await create({ types: ['messages.updated', 'otp.sent'], gatherSeconds: 1 });
      const since = new Map<string, number>();
      const told = new Map<string, number>();
      const refused = { code: '447700900002', inList: REFUSED };
      stage.refuses = (event) => {
        const people = rowsOf(event).map(({ to }) => to!);
        if (people.some((to) => Object.values(refused).includes(to))) return true;
        for (const to of people) told.set(to, stage.aheadMs);
        return false;
      };
      const list = async (people: readonly string[]) => {
        for (const each of people) since.set(each, stage.aheadMs);
        await record(await accept([...people]), 'acked', 0, people.length);
      };
      const numbers = (group: number) => PEOPLE.map((_, i) => `4915155${String(10_000 + group * 100 + i)}`);
      await record(await accept([refused.code], 'otp'), 'acked', 0, 1);
      for (let seconds = 0; seconds < 600; seconds += STEP_S) {
        if (seconds === laterSeconds) await list(PEOPLE);
        else if (seconds > laterSeconds && seconds < 300) await list(numbers(seconds));
        await run();
        stage.aheadMs += STEP_S * 1_000;
      }
      const late = [...since].filter(([to]) => to !== REFUSED).map(([to, ms]) => (told.get(to) ?? 600_000) - ms);
      expect(late.length).to.be.above(300);
      expect(Math.max(...late)).to.be.at.most(90_000);
    });
  }
});

describe('a code, and a recipient of a list, that an endpoint refuses which takes four rows in a request at most', () => {
  const { stage, create, accept, record } = useLoggedEndpoint();
  const CODE = '447700900002';
  for (const concurrency of [1, 2, 10]) {
    for (const refused of [0, 8]) {
      it(`hold up all others for 90 s at most: person ${refused}, ${concurrency} at a time`, async () => {
        const types = ['messages.updated', 'message.sent', 'otp.sent'];
        const run = await create({ types, gatherSeconds: 5, concurrency });
        const isRefused = (to: string) => to === CODE || to === PEOPLE[refused];
        const told = new Map<string, number>();
        stage.refuses = (event) => {
          const people = rowsOf(event).map(({ to }) => to!);
          if (people.length > 4) return 413;
          if (people.some(isRefused)) return 422;
          for (const to of people) told.set(`${to} ${event.type}`, stage.aheadMs);
          return false;
        };
        await record(await accept([CODE], 'otp'), 'acked', 0, 1);
        const keys = PEOPLE.filter((to) => !isRefused(to)).flatMap((to) =>
          types.slice(0, 2).map((type) => `${to} ${type}`),
        );
        for (let seconds = 0; seconds < 600 && !keys.every((key) => told.has(key)); seconds += STEP_S) {
          if (seconds === 2 * STEP_S) await record(await accept(PEOPLE), 'acked', 0, PEOPLE.length);
          await run();
          stage.aheadMs += STEP_S * 1_000;
        }
        const late = keys.map((key) => (told.get(key) ?? Number.POSITIVE_INFINITY) - 2 * STEP_S * 1_000);
        expect(Math.max(...late)).to.be.at.most(90_000);
      });
    }
  }
});

describe('a message behind a list that an endpoint refuses, where what is put aside was all that it was asked for lately', () => {
  const { space, stage, create, accept, record, ownership } = useLoggedEndpoint();
  for (const refused of [1, 6])
    it(`is told within 90 s: ${refused} of the list are refused`, async () => {
      const run = await create({ types: ['messages.updated', 'message.received'], gatherSeconds: 1 });
      stage.refuses = (event) => rowsOf(event).some(({ to }) => PEOPLE.slice(0, refused).includes(to!));
      const tag = await accept(PEOPLE);
      await record(tag, 'acked', 0, PEOPLE.length);
      for (let i = 0; i < 60; i++, stage.aheadMs += STEP_S * 1_000) await run();
      for (let i = 0; i < 60; i++, stage.aheadMs += 60_000) await run();
      await record(await accept([REFUSED]), 'acked', 0, 1);
      stage.aheadMs += 2_000;
      await run();
      const message = { platformId: '3AF0', jid: `${ANOTHER}@s.whatsapp.net`, text: 'hello' };
      await recordReceived(space.store, ownership, { message, nowMs: Date.now() + stage.aheadMs });
      let seconds = 0;
      for (; !stage.events.some(({ type }) => type === 'message.received'); seconds += STEP_S) {
        await run();
        stage.aheadMs += STEP_S * 1_000;
      }
      expect(seconds).to.be.at.most(90);
    });
});
