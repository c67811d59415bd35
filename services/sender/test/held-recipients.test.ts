import { parseMessageId } from '@gateway/contracts/ids';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { findHeldNumber, findHolding } from '@gateway/sender/holding/held-recipients';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { type RecipientEvent, recordResults } from '@gateway/store/sends/change-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };
const held = (error: 'new_contacts_held' | 'awaiting_history' | 'looked_up_again') =>
  ({ event: 'held', errorCode: ownErrorCode(error) }) as const;

describe('who is held in sends that this process has no recipients of', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  before(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
  });
  after(() => space.close());

  async function send(recipients: string[], events: Pick<RecipientEvent, 'event' | 'errorCode'>[]): Promise<string> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    await recordResults(space.store, ownership, {
      ...{ tag: parseMessageId(messageId)!.tag, nowMs: Date.now() },
      events: events.map((event, recipient) => ({ recipient, part: 0, ...event })),
    });
    return messageId;
  }
  const deps = () => ({ store: space.store, ownership });

  it('is found in Redis, in any spelling, and not who waits for something else or has got the message', async () => {
    const [typed, known] = ['5511987654321', '551187654321'];
    const other = '447700900123';
    const [first, second, third, sent] = [
      await send([other, typed], [held('new_contacts_held'), held('new_contacts_held')]),
      await send([other, typed], [held('new_contacts_held'), held('looked_up_again')]),
      await send([known], [held('awaiting_history')]),
      await send([known], [{ event: 'acked' }]),
    ];
    const all = [first, second, third, sent];
    expect(await findHolding(deps(), all, [known])).to.deep.equal(new Set([first, third]));
    expect(await findHolding(deps(), all, [other, known])).to.deep.equal(new Set([first, second, third]));
    expect(await findHolding(deps(), [], [known])).to.deep.equal(new Set());
    expect(await findHeldNumber(deps(), [sent, third, first], () => true)).to.equal(known);
    expect(await findHeldNumber(deps(), all, (number) => number !== other)).to.equal(typed);
    expect(await findHeldNumber(deps(), [second, sent], (number) => number === typed)).to.equal(undefined);
  });

  it('is found at the end of a long list', async () => {
    const people = makeNumbers(1_200);
    const events = people.map(() => held('new_contacts_held'));
    const list = await send(people, events);
    const last = people.at(-1)!;
    expect(await findHolding(deps(), [list], [last])).to.deep.equal(new Set([list]));
    expect(await findHeldNumber(deps(), [list], (number) => number === last)).to.equal(last);
    expect(await findHeldNumber(deps(), [list], () => false)).to.equal(undefined);
  });
});
