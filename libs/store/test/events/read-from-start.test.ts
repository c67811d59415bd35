import { LOG_START, type LogPlace } from '@gateway/contracts/events/cursor';
import type { ChangeData } from '@gateway/contracts/events/events';
import { openEvents } from '@gateway/store/events/open-events';
import { type EventPage, readEvents } from '@gateway/store/events/reading/read-events';
import { boundLog, relayOutbox } from '@gateway/store/events/relay-outbox';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend } from '@gateway/store/sends/change-send';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { useOwnedDevice } from '../support/use-owned-device.js';

const PEOPLE = Array.from({ length: 1_200 }, (_, i) => String(447_700_000_000 + i));

describe('who reads a log from its start', () => {
  const { address, space } = useOwnedDevice();
  beforeEach(() => openEvents(space.store, 'main'));

  /** An entry of its own. Answers the id of the send. */
  async function cancelList(recipients = PEOPLE): Promise<string> {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      ...{ owner: 't', requestId: 'order-1', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    await cancelSend(space.store, address, messageId);
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    return messageId;
  }
  const read = (after: LogPlace) =>
    readEvents({ store: space.store, workspace: 'main' }, after, { limit: 500 }) as Promise<EventPage>;
  const changesOf = ({ rows }: EventPage) => rows.flatMap(({ event }) => (event.data.changes ?? []) as ChangeData[]);
  /** As happens every ten seconds in a log that is a week old, or full. */
  const trim = async () => expect(await boundLog(space.store, 'main', 0)).to.equal(true);

  it('is told that something is gone when the oldest entry goes, of which they have had a part', async () => {
    for (let list = 0; list < 2; list++) await cancelList();
    const { next } = await read(LOG_START);
    await trim();
    expect(await read(next)).to.have.property('oldest');
  });

  it('is told so, too, when they had found an empty log', async () => {
    const { next } = await read(LOG_START);
    for (let list = 0; list < 2; list++) await cancelList(PEOPLE.slice(0, 12));
    await trim();
    expect(await read(next)).to.have.property('oldest');
  });

  it('is told the oldest entry whole from a place within one of before, as it was told by the version before', async () => {
    const messageId = await cancelList();
    const { rows } = await read({ entry: '0-0', offset: 700 });
    expect(changesOf({ rows } as EventPage)[0]).to.include({ messageId, index: 0 });
  });
});
