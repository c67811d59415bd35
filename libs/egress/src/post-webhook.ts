import { isIP } from 'node:net';
import { type SigningSecret, signWebhook } from '@gateway/contracts/webhooks/signature';
import { WEBHOOK_LIMITS, type WebhookAttempt } from '@gateway/contracts/webhooks/webhook';
import type { Clock } from '@gateway/runtime/clock';
import { EgressError } from './egress-error.js';
import type { FetchPolicy } from './fetch-policy.js';
import { type PostRequest, postUrl } from './post-url.js';

export interface WebhookRequest {
  target: { url: string; headers: Readonly<Record<string, string>> };
  secrets: readonly SigningSecret[];
  /** `webhook-id`: the same whenever this is posted again. */
  id: string;
  /** JSON; the same bytes whenever this is posted again. */
  body: Buffer;
}

export interface PostedWebhook {
  attempt: WebhookAttempt;
  /** How long the endpoint asks to be left alone. */
  retryAfterMs?: number;
}

/** Posts a signed request to an endpoint, once. Does not throw for what the endpoint does. */
export async function postWebhook(
  { target, secrets, id, body }: WebhookRequest,
  { policy, clock, signal, keep }: { policy: FetchPolicy; clock: Clock } & Pick<PostRequest, 'signal' | 'keep'>,
): Promise<PostedWebhook> {
  const atMs = clock.nowMs();
  const startedAt = clock.monotonicMs();
  const headers = {
    ...target.headers,
    'content-type': 'application/json',
    ...signWebhook(secrets, { id, atMs, body }),
  };
  const toAttempt = (outcome: Pick<WebhookAttempt, 'status' | 'error' | 'answer'>): WebhookAttempt => {
    return { webhookId: id, atMs, tookMs: Math.round(clock.monotonicMs() - startedAt), ...outcome };
  };
  try {
    const request = { body, headers, timeoutMs: WEBHOOK_LIMITS.timeoutMs, signal, ...(keep && { keep }) };
    const { status, retryAfter, excerpt } = await postUrl(target.url, policy, request);
    const retryAfterMs = readRetryAfter(retryAfter, atMs);
    const attempt = toAttempt({ status, error: null, answer: excerpt.toString() });
    return { attempt, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  } catch (thrown) {
    if (!(thrown instanceof EgressError)) throw thrown;
    return { attempt: toAttempt({ status: null, error: publicReason(thrown, target.url), answer: '' }) };
  }
}

/**
 * An operator's rule and an address that is none of the public internet look alike, and so does a name that leads to one and a name that leads
 * nowhere: which names there are inside is not told.
 */
function publicReason({ reason }: EgressError, url: string): string {
  const isOfAddress = reason === 'address' || reason === 'denied_network';
  if (isOfAddress && isIP(new URL(url).hostname.replace(/^\[|\]$/g, '')) === 0) return 'name';
  return isOfAddress || reason === 'scheme' || reason === 'port' ? 'not_allowed' : reason;
}

/** Seconds, or a date (RFC 9110, 10.2.3). A server and the proxy in front of it may both ask: the longer wait counts. */
function readRetryAfter(given: string | string[] | undefined, nowMs: number): number | undefined {
  const waits = [given ?? []]
    .flat()
    .map((value) => (/^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs));
  const known = waits.filter((ms) => !Number.isNaN(ms));
  return known.length > 0 ? Math.max(0, ...known) : undefined;
}
