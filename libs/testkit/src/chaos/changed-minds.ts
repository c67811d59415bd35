import { sleep } from '@gateway/runtime/clock';
import { makeNumbers } from '../phones.js';
import { callUntilAnswered } from './client.js';
import type { Line, PromisedSend } from './take-account.js';

/** Per device: both kinds. */
const EVERY_MS = 12_000;
const LEAST_GAP_MS = 500;
/** Enough that some are not out when it is cancelled, however fast it goes. */
const RECIPIENTS = 50;

interface World {
  round: number;
  bases: readonly string[];
  lines: readonly Line[];
  /** Whom callers have opted out. */
  optedOut: string[];
}

/**
 * Callers who change their minds, in turn for each device until they are stopped: they accept that a person wants no messages, and
 * still have that person on their next list; and they cancel a list at once.
 * @param promised gets each of their lists.
 */
export async function changeMinds(world: World, promised: PromisedSend[], stop: AbortSignal): Promise<void> {
  const { lines } = world;
  for (let i = 0; !stop.aborted; i++) {
    const line = lines[i % lines.length]!;
    promised.push(await cancelledList(world, line, 2 * i));
    promised.push(await listAfterOptOut(world, line, 2 * i + 1));
    await sleep(Math.max(EVERY_MS / lines.length, LEAST_GAP_MS), stop).catch(() => {});
  }
}

async function listAfterOptOut(world: World, line: Line, i: number): Promise<PromisedSend> {
  const [unwilling, willing] = makeNumbers(2, seriesOf(world, i)) as [string, string];
  const answer = await callUntilAnswered(world.bases, '/opt-outs', { token: line.token, body: { phone: unwilling } });
  if (answer.status !== 200) throw new Error(`opt-out refused: ${JSON.stringify(answer)}`);
  world.optedOut.push(unwilling);
  const send = await sendList(world, line, { to: [unwilling, willing], i });
  return { ...send, unwilling: new Set([unwilling]) };
}

async function cancelledList(world: World, line: Line, i: number): Promise<PromisedSend> {
  const send = await sendList(world, line, { to: makeNumbers(RECIPIENTS, seriesOf(world, i)), i });
  const path = `/messages/${send.messageId}`;
  const { body } = await callUntilAnswered(world.bases, path, { method: 'DELETE', token: line.token });
  // Without replicas that confirm, the send itself may be forgotten.
  const { cancelled = 0 } = (body.counts ?? {}) as { cancelled?: number };
  return { ...send, cancelled };
}

const seriesOf = ({ round }: World, i: number) => 700_000 + round * 10_000 + i;

async function sendList(world: World, line: Line, { to, i }: { to: string[]; i: number }): Promise<PromisedSend> {
  const marker = `changed mind ${world.round}/${i}`;
  const answer = await callUntilAnswered(world.bases, '/send', { token: line.token, body: { to, text: marker } });
  if (answer.status !== 202) throw new Error(`list refused: ${JSON.stringify(answer)}`);
  const messageId = String(answer.body.messageId);
  return { line, messageId, marker, refused: new Set(), to, promisedAtMs: Date.now() };
}
