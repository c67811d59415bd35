import { randomBytes } from 'node:crypto';
import { toBase32 } from '../base32.js';
import type { WebhookId } from './webhook.js';

/** What an endpoint is tested with, ready to be posted. Another one each time. */
export function makeTestEvent(webhookId: WebhookId, nowMs: number): { id: string; body: Buffer } {
  const id = `evt_${webhookId.slice('wh_'.length)}_${toBase32(randomBytes(5))}_test`;
  const event = {
    ...{ id, type: 'webhook.test', version: 1, timestamp: new Date(nowMs).toISOString() },
    ...{ device: null, data: { webhookId } },
  };
  return { id, body: Buffer.from(JSON.stringify(event)) };
}
