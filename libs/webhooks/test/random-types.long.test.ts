import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { recordResults } from '@gateway/store/sends/change-send';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { Random } from '@gateway/testkit/chaos/random';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 14 }, (_, i) => `49151123${String(40_000 + i)}`);
const TOGETHER = 'messages.updated';
const SENT = 'message.sent';
const DELIVERED = 'message.delivered';
const ASKED = [[TOGETHER], [SENT, DELIVERED], [TOGETHER, SENT, DELIVERED], [TOGETHER, SENT], [TOGETHER, DELIVERED]];
const STEPS = ['acked', 'delivered'] as const;
const SEQUENCES = 40;

const changesIn = ({ data }: GatewayEvent) => (data.changes ?? [data]) as ChangeData[];

describe('an endpoint that asks for other types again and again, and refuses some people or too large requests', () => {
  const { space, stage, create, accept, ownership } = useLoggedEndpoint();

  /** Answers what it asked for, one after the other. */
  async function play(dice: Random): Promise<string[][]> {
    const random = () => dice.next();
    const pick = <T>(from: readonly T[]): T => dice.pick(from);
    const asked = [pick(ASKED)];
    // Of several at a time see ADR 60.
    const run = await create({ types: asked[0]!, gatherSeconds: 1 });
    const changes = pick([1, 2, 3]);
    const change = async () => {
      if (asked.length > changes) return;
      asked.push(pick(ASKED.filter((each) => each !== asked.at(-1))));
      await changeWebhook(space.store, 'main', run.id, { settings: { types: asked.at(-1)! } });
    };
    const refused = new Set(PEOPLE.filter(() => random() < 0.2));
    const shape = pick(['any', 'alone', 'together']);
    const most = pick([3, 5, 100, 100]);
    const changesAt = pick([-1, -1, Math.floor(random() * 12)]);
    let requests = 0;
    stage.take = async () => {
      if (requests++ === changesAt) await change();
    };
    stage.refuses = (event) => {
      const rows = changesIn(event);
      if (rows.length > most) return 413;
      const isOfShape = shape === 'any' || (shape === 'together') === (event.type === TOGETHER);
      return isOfShape && rows.some(({ to }) => refused.has(to!));
    };
    const tag = await accept(PEOPLE);
    const levels = PEOPLE.map(() => 0);
    const record = async () => {
      const events = PEOPLE.flatMap((_, recipient) => {
        const event = STEPS[levels[recipient]!];
        if (!event || random() < 0.5) return [];
        levels[recipient]!++;
        return [{ recipient, part: 0, event }];
      });
      if (events.length === 0) return;
      await recordResults(space.store, ownership, { tag, nowMs: Date.now() + stage.aheadMs, events });
    };
    const steps = 6 + Math.floor(random() * 20);
    for (let step = 0; step < steps; step++) {
      const what = random();
      if (what < 0.35) await record();
      else if (what < 0.45) await change();
      else {
        stage.aheadMs += pick([1_500, 6_000, 20_000, 70_000]);
        await run();
      }
    }
    while (levels.some((level) => level < STEPS.length)) await record();
    stage.refuses = () => false;
    for (let turn = 0; turn < 12; turn++) {
      stage.aheadMs += 200_000;
      await run();
    }
    return asked;
  }

  /** What is wrong with what it was told of one change, by way: under how many ids. */
  function judge(asked: readonly string[][], status: string, { alone, together }: { alone: number; together: number }) {
    const isAlone = (types: readonly string[]) => types.includes(`message.${status}`);
    const wasWanted = asked.every((types) => types.includes(TOGETHER) || isAlone(types));
    const wasTwice = asked.some((types) => types.includes(TOGETHER) && isAlone(types));
    if (wasWanted && alone + together === 0) return 'not told';
    if (alone > 1 || together > 1 || (!wasTwice && alone + together > 1)) return `${alone} and ${together} times`;
    return undefined;
  }

  for (let seed = 1; seed <= SEQUENCES; seed++) {
    it(`is told each change, in each way once at most (${seed})`, async () => {
      const asked = await play(new Random(seed));
      const idsOf = (index: number, status: string, isTogether: boolean) =>
        new Set(
          stage.events
            .filter(({ type }) => (type === TOGETHER) === isTogether)
            .filter((event) => changesIn(event).some((row) => row.index === index && row.status === status))
            .map(({ id }) => id),
        ).size;
      const wrong = PEOPLE.flatMap((_, index) =>
        ['sent', 'delivered'].flatMap((status) => {
          const [alone, together] = [idsOf(index, status, false), idsOf(index, status, true)];
          const problem = judge(asked, status, { alone, together });
          return problem ? [`${index} ${status}: ${problem}`] : [];
        }),
      );
      expect(wrong, asked.map((types) => types.join()).join(', then ')).to.deep.equal([]);
    });
  }
});
