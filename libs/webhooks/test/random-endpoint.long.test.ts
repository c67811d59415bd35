import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { ShardsAwayError } from '@gateway/store/core/away/away-shards';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { recordResults } from '@gateway/store/sends/change-send';
import { endSessions } from '@gateway/store/webhooks/delivering/owners';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import {
  changeWebhook,
  pauseWebhook,
  readWebhook,
  resumeWebhook,
  rotateSecret,
} from '@gateway/store/webhooks/webhooks';
import { Random } from '@gateway/testkit/chaos/random';
import { expect } from 'chai';
import { useAwayDevices } from '../../store/test/support/use-away-devices.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 14 }, (_, i) => `49151123${40_000 + i}`);
const WRITERS = ['491700000041', '491700000042', '491700000043'];
const STEPS = ['acked', 'delivered', 'read'] as const;
const STATUSES = ['sent', 'delivered', 'read'];
/** And those that went wrong once: where other types were asked for in the middle of an entry, and where something was replayed. */
const SEEDS_OF_ONE = [
  ...Array.from({ length: 120 }, (_, i) => i + 1),
  200_130,
  310_293,
  310_582,
  310_741,
  310_745,
  311_704,
];
/** Two devices, whose nodes of Redis come and go. */
const SEEDS_OF_NODES = [...Array.from({ length: 60 }, (_, i) => 400_001 + i), 400_369];
const CODES = ['otp.sent', 'otp.delivered', 'otp.read'];
/** Each tells of all that happens. */
const TYPES = [
  ['messages.updated'],
  ['messages.updated', 'message.sent'],
  ['messages.updated', 'message.sent', 'message.delivered'],
  ['messages.updated', 'message.sent', 'message.delivered', 'message.read'],
  ['message.sent', 'message.delivered', 'message.read'],
].map((types) => [...types, 'message.received', 'send.finished', ...CODES]);

type Answer = (event: GatewayEvent) => boolean | number;

const rowsOf = ({ data }: GatewayEvent) => (data.changes ?? [data]) as ChangeData[];

describe('an endpoint to which anything may happen: it fails, its owner changes it, and processes die', () => {
  const { space, stage, create, accept, ownership, useDevice } = useLoggedEndpoint();
  const away = useAwayDevices(space);

  for (const seed of [...SEEDS_OF_ONE, ...SEEDS_OF_NODES]) {
    it(`is told all in the end, in order, the same bytes under the same id (${seed})`, async () => {
      const dice = new Random(seed);
      const random = () => dice.next();
      const pick = <T>(from: readonly T[]): T => dice.pick(from);
      const order = pick(['recipient', 'recipient', 'strict'] as const);
      const types = pick(TYPES);
      const run = await create({ types, order, gatherSeconds: pick([1, 30]), concurrency: pick([1, 1, 5, 20]) });
      const webhook = { workspace: 'main', id: run.id };
      /** What is wrong. */
      const wrong: string[] = [];
      const played: string[] = [order, types[0]!];
      const nowMs = () => Date.now() + stage.aheadMs;

      const one = { accept, owner: ownership };
      const other = SEEDS_OF_NODES.includes(seed) ? await useDevice('b') : undefined;
      const sends: { tag: Awaited<ReturnType<typeof accept>>; levels: number[]; owner: Ownership }[] = [];
      const written = WRITERS.map(() => 0);
      const write = async () => {
        const writer = Math.floor(random() * WRITERS.length);
        const number = ++written[writer]!;
        const message = {
          platformId: `3AF${writer}E${number}`,
          jid: `${WRITERS[writer]}@s.whatsapp.net`,
          text: `n${number}`,
        };
        await recordReceived(space.store, ownership, { message, nowMs: nowMs() });
      };
      const send = async () => {
        const people = random() < 0.5 ? PEOPLE : [...new Set([pick(PEOPLE), pick(PEOPLE), pick(PEOPLE)])];
        const isOtp = random() < 0.2;
        const chosen = isOtp ? [pick(PEOPLE)] : people;
        const { accept, owner } = other && random() < 0.5 ? other : one;
        sends.push({ tag: await accept(chosen, isOtp ? 'otp' : 'text'), levels: chosen.map(() => 0), owner });
      };
      const change = async () => {
        if (sends.length === 0 || random() < 0.3) await send();
        const { tag, levels, owner } = pick(sends);
        // Some come to the next one in the same step.
        const events = [0.4, 0.7].flatMap((left) =>
          levels.flatMap((level, recipient) => {
            const event = STEPS[level];
            if (!event || random() < left) return [];
            levels[recipient]!++;
            return [{ recipient, part: 0, event }];
          }),
        );
        if (events.length > 0) await recordResults(space.store, owner, { tag, nowMs: nowMs(), events });
      };
      const comeOrGo = async () => {
        const device = pick(['a', 'b']);
        played.push(`${away.has(device) ? 'there is' : 'away is'} ${device}`);
        if (!away.delete(device)) away.add(device);
      };

      const refused = new Set([
        ...PEOPLE.filter(() => random() < 0.12),
        ...(random() < 0.3 ? WRITERS.slice(0, 1) : []),
      ]);
      const most = pick([2, 5, 100]);
      const refuses: Answer = (event) => [...refused].some((phone) => JSON.stringify(event.data).includes(phone));
      const answers: Record<string, Answer> = {
        'all is well': () => false,
        'some are refused': refuses,
        'it is down': () => 503,
        'it says nothing': () => 0,
        'it takes some and says nothing': (event) => {
          if (random() < 0.5) return false;
          stage.events.push(event);
          return 0;
        },
        'it fails now and then': () => random() < 0.35 && pick([500, 0, 503]),
        'it takes small requests': (event) => (rowsOf(event).length > most ? 413 : refuses(event)),
        'it wants fewer': () => random() < 0.3 && 429,
      };
      let answer = answers['all is well']!;
      const bodies = new Map<string, string>();
      stage.refuses = (event) => {
        const body = JSON.stringify(event);
        if ((bodies.get(event.id) ?? body) !== body) wrong.push(`other bytes of ${event.id}`);
        bodies.set(event.id, body);
        return answer(event);
      };
      stage.asksFor = () => (random() < 0.1 ? pick([3, 600]) : 0);

      let processes = 1;
      let dies: { step: string; isAfter: boolean } | undefined;
      const step = space.store.run;
      space.store.run = async (name, ...rest) => {
        const isDying = dies?.step === name ? dies : undefined;
        if (isDying) dies = undefined;
        if (isDying?.isAfter === false) throw new Error('died');
        const reply = await step(name, ...rest);
        if (isDying) throw new Error('died');
        return reply;
      };
      const tellAs = async (number: number) => {
        await run.as(`process-${number}`).catch((thrown: Error) => {
          if (thrown.message !== 'died') throw thrown;
        });
      };
      const die = async () => {
        dies = { step: pick(['claim-delivery', 'settle-delivery']), isAfter: random() < 0.5 };
        await tellAs(processes);
        dies = undefined;
        await endSessions(space.store, `process-${processes++}`);
      };
      /** One that was frozen wakes up while another one goes on. */
      const freeze = async () => {
        const frozen = processes++;
        const telling = tellAs(frozen);
        await endSessions(space.store, `process-${frozen}`);
        await Promise.all([telling, tellAs(processes)]);
        await endSessions(space.store, `process-${frozen}`);
      };

      let changes = 0;
      const passTest = async () => {
        const { revision } = (await readWebhook(space.store, 'main', run.id))!;
        const attempt = { webhookId: 'evt_0', atMs: nowMs(), tookMs: 0, status: 200, error: null, answer: '' };
        await recordAttempt(space.store, 'main', run.id, { attempt, verifiesRevision: revision });
      };
      const asOwner: Record<string, () => Promise<unknown>> = {
        pause: () => pauseWebhook(space.store, 'main', run.id),
        resume: () => resumeWebhook(space.store, 'main', run.id),
        rotate: () =>
          rotateSecret(space.store, 'main', run.id, { overlapHours: pick([0, 24, 168]), nowMs: Date.now() }),
        headers: () => changeWebhook(space.store, 'main', run.id, { target: { headers: { 'x-n': `${changes++}` } } }),
        types: () => changeWebhook(space.store, 'main', run.id, { settings: { types: pick(TYPES) } }),
        describe: () => changeWebhook(space.store, 'main', run.id, { settings: { description: `${changes++}` } }),
        concurrency: () => changeWebhook(space.store, 'main', run.id, { settings: { concurrency: pick([1, 5, 20]) } }),
        test: passTest,
        replayIds: async () => {
          if (stage.posted.length === 0) return;
          const ids = [pick(stage.posted).id, rowsOf(pick(stage.posted))[0]!.id ?? 'none'];
          // What cannot be read now is answered with 503.
          await replayWebhook(space.store, webhook, { ids }, nowMs()).catch(unlessShardsAreAway);
        },
        // Not in all: what is lost would come with it.
        ...(random() < 0.3 && {
          replayTimes: () =>
            replayWebhook(space.store, webhook, { afterMs: Date.now() - 60_000, beforeMs: nowMs() }, nowMs()),
        }),
      };
      const own = async () => {
        const name = pick(Object.keys(asOwner));
        played.push(name);
        await Promise.all([random() < 0.5 && tellAs(processes), asOwner[name]!()]);
      };
      const wait = async () => {
        stage.aheadMs += pick([1_500, 6_000, 20_000, 70_000, 400_000]);
        await tellAs(processes);
      };
      const answerOtherwise = async () => {
        const name = pick(Object.keys(answers));
        played.push(name);
        answer = answers[name]!;
      };
      const moves = [
        ...[wait, wait, wait, wait, wait, wait, wait],
        ...[write, write, change, change, change, change],
        ...[answerOtherwise, answerOtherwise, own, own, own, die, freeze],
        ...(other ? [comeOrGo, comeOrGo, comeOrGo, comeOrGo] : []),
      ];
      try {
        for (let left = 25 + Math.floor(random() * 30); left > 0; left--) await pick(moves)();
        away.clear();
        answer = answers['all is well']!;
        stage.asksFor = () => 0;
        await resumeWebhook(space.store, 'main', run.id);
        await passTest();
        for (let turn = 0; turn < 30; turn++) {
          stage.aheadMs += 600_000;
          await tellAs(processes);
        }
      } finally {
        space.store.run = step;
      }

      const told = firstTold(stage.events);
      for (const [name, numbers] of told)
        if (numbers.some((number, i) => number !== i)) wrong.push(`order of ${name}: ${numbers.join()}`);
      for (const event of stage.events)
        if (event.type === 'messages.updated' && !isInOrder(rowsOf(event))) wrong.push(`order in ${event.id}`);
      const count = [...told.values()].reduce((total, { length }) => total + length, 0);
      const wanted = [...sends.flatMap(({ levels }) => levels), ...written].reduce((total, each) => total + each, 0);
      if (count !== wanted) wrong.push(`${count} of ${wanted} told`);
      if (stage.events.some(({ type }) => type === 'events.gap')) wrong.push('a gap');
      const keys = workspaceKeys(space.store.space, 'main');
      const waiting = await space.store.redis.llen(keys.webhookReplays(run.id));
      const fields = await space.store.redis.hkeys(keys.webhook(run.id));
      if (waiting > 0 || fields.some((field) => field.startsWith('replay:'))) wrong.push(`${waiting} replays wait`);
      expect(wrong, played.join(', ')).to.deep.equal([]);
    });
  }
});

function unlessShardsAreAway(thrown: unknown): void {
  if (!(thrown instanceof ShardsAwayError)) throw thrown;
}

/** Of each recipient in one event: none comes before an earlier one. */
function isInOrder(rows: readonly ChangeData[]): boolean {
  const ranks = new Map<string, number>();
  return rows.every(({ messageId, index, status }) => {
    const name = `${messageId}/${index}`;
    const [rank, before = -1] = [STATUSES.indexOf(status), ranks.get(name)];
    ranks.set(name, rank);
    return rank > before;
  });
}

/** Of each recipient and each writer: which of their events came, in the order in which each came first. From 0 on if none is missing. */
function firstTold(events: readonly GatewayEvent[]): Map<string, number[]> {
  const seen = new Set<string>();
  const told = new Map<string, number[]>();
  const note = (id: string, name: string, number: number) => {
    if (!seen.has(id)) told.set(name, [...(told.get(name) ?? []), number]);
    seen.add(id);
  };
  for (const event of events) {
    const { id, type, data } = event;
    if (type === 'message.received') {
      const { from, content } = data as { from: string; content: { text: string } };
      note(id, from, Number(content.text.slice(1)) - 1);
    } else if (type.startsWith('message') || type.startsWith('otp')) {
      for (const row of rowsOf(event)) note(row.id, `${row.messageId}/${row.index}`, STATUSES.indexOf(row.status));
    }
  }
  return told;
}
