import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import { closeUnwanted } from '@gateway/store/events/opening/close-events';
import { deleteWebhook } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
import type { BenchContext } from '../support/benchmark.js';
import type { Stage } from '../support/stage.js';
import { makeKnown, WORKSPACE } from './make-known.js';

const LATE_MS = 300_000;

/** What the endpoint was told since it was made known. */
export interface Told {
  /** About lists. */
  requests: number;
  changes: number;
  /** Of one-time passwords: from what happened until it came here. */
  codeMs: number[];
  /** Bytes of the log's stream. */
  logBytes: number;
}

/** A server of this process that takes all events, and can be made known as a webhook again and again. */
export interface Endpoint {
  /** From here on there are events. */
  open(gatherSeconds?: number): Promise<void>;
  /** Until it was told that all these messages are read. */
  waitForReads(messages: number): Promise<void>;
  told(): Promise<Told>;
  /** No one wants events any more. */
  close(): Promise<void>;
}

export async function openEndpoint({ lifecycle }: BenchContext, { space: { store } }: Stage): Promise<Endpoint> {
  let id: string | undefined;
  let told = { requests: 0, changes: 0, reads: 0, codeMs: [] as number[] };
  const server = createServer(async (req, res) => {
    const event = JSON.parse((await buffer(req)).toString()) as GatewayEvent;
    res.writeHead(204).end();
    const rows = (event.data.changes as ChangeData[] | undefined) ?? [];
    if (event.type === 'messages.updated' || Number(event.data.recipients) > 1) told.requests++;
    told.changes += rows.length;
    for (const { status } of rows) if (status === 'read') told.reads++;
    if (event.type.startsWith('otp.')) told.codeMs.push(Date.now() - Date.parse(event.timestamp));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  lifecycle.add('endpoint', async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    async open(gatherSeconds = DEFAULT_WEBHOOK_SETTINGS.gatherSeconds) {
      told = { requests: 0, changes: 0, reads: 0, codeMs: [] };
      id = await makeKnown(store, { url, settings: { ...DEFAULT_WEBHOOK_SETTINGS, gatherSeconds } });
    },
    waitForReads: async (messages) => {
      await eventually(() => told.reads >= messages, { timeoutMs: LATE_MS, what: `${messages} reads told` });
    },
    async told() {
      const { eventLog } = workspaceKeys(store.space, WORKSPACE);
      return { ...told, logBytes: (await store.redis.memory('USAGE', eventLog, 'SAMPLES', 0)) ?? 0 };
    },
    async close() {
      if (id !== undefined) await deleteWebhook(store, WORKSPACE, id);
      await closeUnwanted(store, WORKSPACE, Number.MAX_SAFE_INTEGER);
      id = undefined;
    },
  };
}
