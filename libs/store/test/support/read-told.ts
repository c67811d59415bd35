import { LOG_START, type LogPlace } from '@gateway/contracts/events/cursor';
import { EVENT_TYPES, eventSchema, type GatewayEvent } from '@gateway/contracts/events/events';
import type { Store } from '@gateway/store/core/store';
import { readLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import type { EventFilter } from '@gateway/store/events/render-events';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { checkEvent } from '../../../../services/api/test/support/openapi-check.js';
import { renderEvents } from './render-events.js';

/** All events of `main` behind a place in the log, once the outboxes are empty. Each is as its schema and the document of the API have it. */
export async function readTold(
  store: Store,
  filter: EventFilter = { types: EVENT_TYPES },
  after: LogPlace = LOG_START,
): Promise<GatewayEvent[]> {
  for (const full of await findFullOutboxes(store, 'main')) await relayOutbox(store, full);
  const found = await readLog(store, 'main', after, { limit: 1_000 });
  if ('oldest' in found) throw new Error('gone');
  const events = (await renderEvents(store, 'main', found.entries, filter)).map(({ event }) => event);
  for (const event of events) {
    const { error } = eventSchema(event.type).validate(event);
    expect(error?.message, JSON.stringify(event)).to.equal(undefined);
    checkEvent(event);
  }
  return events;
}
