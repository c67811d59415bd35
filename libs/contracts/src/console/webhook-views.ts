import type { SignatureScheme } from '../webhooks/signature.js';
import type { WebhookAttempt, WebhookId, WebhookSettings, WebhookStatus } from '../webhooks/webhook.js';

/** What the page shows of an endpoint: never its secret, nor the values of its headers. Times in ms since 1970. */
export interface WebhookView extends WebhookSettings {
  id: WebhookId;
  status: WebhookStatus;
  /** Of its URL, with the port; absent where that is encrypted with a key that is lost, or not configured here: then it can only be deleted. */
  host?: string;
  /** A path may be a secret: not for viewers. */
  url?: string;
  /** Names. */
  headers: readonly string[];
  createdAtMs: number;
  /** How its requests are signed, if that is known here. */
  signature?: SignatureScheme;
  /** When its URL passed the test. */
  verifiedAtMs?: number;
  /** Since when each attempt failed. */
  failingSinceMs?: number;
  /** The last 2xx among its latest requests. */
  lastSuccessAtMs?: number;
  /** Until then requests are signed with the former secret, too. */
  rotatedUntilMs?: number;
}

/** One endpoint, with its latest requests. */
export interface WebhookPage {
  webhook: WebhookView;
  /** The newest first. What an endpoint answered is empty for viewers. */
  deliveries: readonly DeliveryView[];
  /** What it refuses while it takes other requests: a hundred, those first that are there for longest. */
  parked: readonly ParkedView[];
}

export interface ParkedView {
  /** Of the event, or of the change. */
  id: string;
  type: string;
  sinceMs: number;
  /** How often it was refused alone. */
  attempts: number;
  /** Of HTTP. */
  lastStatus?: number;
  /** Without it, it is not tried again by itself. */
  nextAttemptMs?: number;
  /** Events of the same recipient that wait behind it. */
  waiting: number;
}

export interface DeliveryView extends WebhookAttempt {
  /** Which attempt of the same request it was, as far as they are known: 1 is the first. */
  attempt: number;
}

/** What came back from a test. */
export interface TestResult extends Pick<WebhookAttempt, 'tookMs' | 'status' | 'error' | 'answer'> {
  delivered: boolean;
  /** Of the endpoint now. */
  webhookStatus: WebhookStatus;
}
