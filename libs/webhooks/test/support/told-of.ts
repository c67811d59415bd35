import { eventSchema } from '@gateway/contracts/events/events';
import { readLog } from '@gateway/store/events/read-log';
import { expect } from 'chai';
import { checkEvent } from '../../../../services/api/test/support/openapi-check.js';
import { renderEvents } from '../../../store/test/support/render-events.js';
import type { Endpoint } from './use-endpoint.js';

/** What the log says of an endpoint: types of events, and what it answered last. */
export async function toldOf(endpoint: Endpoint): Promise<string[]> {
  const { store } = endpoint.space;
  const log = await readLog(store, 'main', { entry: '0-0', offset: 0 }, { limit: 100 });
  if ('oldest' in log) throw new Error('gone');
  return (await renderEvents(store, 'main', log.entries)).map(({ event }) => {
    expect(eventSchema(event.type).validate(event).error).to.equal(undefined);
    checkEvent(event);
    expect(event.data.webhookId).to.equal(endpoint.id);
    return `${event.type} ${event.data.lastStatus}`;
  });
}
