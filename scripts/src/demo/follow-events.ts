import { sleep } from '@gateway/runtime/clock';
import type { ApiClient, EventPage } from './api-client.js';

export interface EventsFollower {
  /** Waits until so many recipients have been told as read, or nothing has come for ten seconds; reads no more then. Answers how many there were. */
  readTold(wanted: number): Promise<number>;
  /** What is under way comes to its end. */
  stop(): Promise<void>;
}

const QUIET_ROUNDS = 5;
/** Between two looks: what comes close together is shown together. */
const REST_MS = 500;

/**
 * Reads the events of the workspace from now on, as a program would that has no address for webhooks.
 * @param show gets a line for what has come together.
 */
export async function followEvents(
  api: Pick<ApiClient, 'events'>,
  show: (line: string) => void,
): Promise<EventsFollower> {
  /** The last status of each recipient, as it was told. */
  const last = new Map<string, string>();
  let cursor = (await api.events({})).nextCursor;
  let [quiet, isOver] = [0, false];
  const readSome = async () => {
    const { events, nextCursor } = await api.events({ after: cursor, wait: '2', limit: '1000' });
    for (const { messageId, index, status } of changesOf(events)) last.set(`${messageId}/${index}`, status);
    if (events.length > 0) show(describe(events));
    cursor = nextCursor;
    quiet = events.length > 0 ? 0 : quiet + 1;
  };
  const countRead = () => [...last.values()].filter((status) => status === 'read').length;
  let wanted = Number.POSITIVE_INFINITY;
  const isDone = () => isOver || (Number.isFinite(wanted) && (countRead() >= wanted || quiet >= QUIET_ROUNDS));
  const reading = (async () => {
    for (; !isDone(); await sleep(REST_MS)) await readSome();
  })();
  // It is told to whom waits for it.
  reading.catch(() => {});
  return {
    async readTold(count) {
      [wanted, quiet] = [count, 0];
      await reading;
      return countRead();
    },
    async stop() {
      isOver = true;
      await reading.catch(() => {});
    },
  };
}

const changesOf = (events: EventPage['events']) => events.flatMap(({ data }) => data.changes ?? []);

/** `messages.updated, send.finished: 20 sent, 7 delivered` */
function describe(events: EventPage['events']): string {
  const types = [...new Set(events.map(({ type }) => type))].join(', ');
  const counts = new Map<string, number>();
  for (const { status } of changesOf(events)) counts.set(status, (counts.get(status) ?? 0) + 1);
  const changes = [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
  return changes ? `${types}: ${changes}` : types;
}
