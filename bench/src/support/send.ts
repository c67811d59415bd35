import { parseMessageId } from '@gateway/contracts/ids';
import { sleep } from '@gateway/runtime/clock';
import { readSend, readSendByTag } from '@gateway/store/sends/read-send';
import type { Stage } from './stage.js';

export const POLL_MS = 10;
const STUCK_MS = 120_000;

export interface Sending {
  device?: string;
  /** Default: the one that every call for the device has. */
  token?: string;
  to: string | readonly string[];
  text?: string;
  attachment?: { type: string; base64: string; mimeType?: string };
}

/** `POST /send`. Throws unless it is accepted. */
export async function accept({ gateway }: Stage, { device = 'default', token, ...body }: Sending): Promise<string> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const text = 'Hello from a benchmark';
  const answer = await gateway.call('POST', '/send', { device, headers, body: { text, ...body } });
  if (answer.status !== 202) throw new Error(`/send answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body.messageId;
}

/** From before the request until the last ack is recorded, in ms. Throws when a recipient failed. */
export async function timeUntilAcked(stage: Stage, sending: Sending): Promise<number> {
  const startedMs = performance.now();
  const messageId = await accept(stage, sending);
  await waitForCounts(stage, { messageId, device: sending.device, until: ({ queued }) => queued === 0 });
  return performance.now() - startedMs;
}

/** The same for sends of several devices that are accepted at once. @param options.pollMs how often a send is looked at. */
export async function timeUntilAllAcked(
  stage: Stage,
  sendings: readonly Sending[],
  { pollMs = POLL_MS }: { pollMs?: number } = {},
): Promise<number> {
  const startedMs = performance.now();
  const messageIds = await Promise.all(sendings.map((sending) => accept(stage, sending)));
  // One after the other: to look at all again and again would cost Redis more than what is measured.
  for (const [i, messageId] of messageIds.entries()) {
    await waitForCounts(stage, { messageId, device: sendings[i]!.device, until: ({ queued }) => queued === 0, pollMs });
  }
  return performance.now() - startedMs;
}

export interface Counts {
  queued: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
}

/** Looks at the record itself: the API may be asked once a second only. */
export async function waitForCounts(
  { space }: Stage,
  what: { messageId: string; device?: string | undefined; until(counts: Counts): boolean; pollMs?: number },
): Promise<void> {
  const { messageId, device = 'default', until, pollMs = POLL_MS } = what;
  const startedMs = performance.now();
  for (;;) {
    const send = await readSend(space.store, { workspace: 'main', device }, messageId);
    if (!send) throw new Error('the send has no record');
    if (send.counts.failed + send.counts.expired > 0)
      throw new Error(`recipients failed: ${JSON.stringify(send.counts)}`);
    if (until(send.counts)) return;
    if (performance.now() - startedMs > STUCK_MS) throw new Error(`nothing moves: ${JSON.stringify(send.counts)}`);
    await sleep(pollMs);
  }
}

/** From the acceptance of a send to the ack of its one message, by the clocks of api and sender. */
export async function readAcceptToAckMs({ space }: Stage, device: string, messageId: string): Promise<number> {
  const tag = parseMessageId(messageId)!.tag;
  const send = await readSendByTag(space.store, { workspace: 'main', device }, tag);
  if (send?.sentAtMs === undefined) throw new Error('the send has no ack');
  return send.sentAtMs - send.createdAtMs;
}
