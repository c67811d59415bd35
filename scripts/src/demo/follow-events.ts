import type { ApiClient } from './api-client.js';

export interface EventsFollower {
  /** Waits until so many recipients have been told as read, or nothing has come for ten seconds. Answers how many there were. */
  readTold(wanted: number): Promise<number>;
}

const QUIET_ROUNDS = 5;

/** Reads the events of the workspace from now on, as a program would that has no address for webhooks. */
export async function followEvents(api: Pick<ApiClient, 'events'>): Promise<EventsFollower> {
  /** The last status of each recipient, as it was told. */
  const last = new Map<string, string>();
  let cursor = (await api.events({})).nextCursor;
  const readSome = async () => {
    const { events, nextCursor } = await api.events({ after: cursor, wait: '2', limit: '1000' });
    for (const { data } of events) {
      for (const { messageId, index, status } of data.changes ?? []) last.set(`${messageId}/${index}`, status);
    }
    cursor = nextCursor;
    return events.length > 0;
  };
  const countRead = () => [...last.values()].filter((status) => status === 'read').length;
  return {
    async readTold(wanted) {
      for (let quiet = 0; quiet < QUIET_ROUNDS && countRead() < wanted; ) quiet = (await readSome()) ? 0 : quiet + 1;
      return countRead();
    },
  };
}
