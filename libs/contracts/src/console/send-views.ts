import type { SendKind } from '../content/message-content.js';
import type { DeviceId, MessageId } from '../ids.js';
import type { RecipientStatus, SendStatus, StatusCounts } from '../sends/statuses.js';

/** A send in the list of the page. Times in ms since 1970. */
export interface SendSummary {
  messageId: MessageId;
  device: DeviceId;
  kind: SendKind;
  status: SendStatus;
  total: number;
  counts: StatusCounts;
  createdAtMs: number;
  expiresAtMs: number;
  /** Its first words or the name of its file, in lists, for those who may send. Never of a one-time password. */
  begins?: string;
}

/** One send, as it is now. */
export interface SendView extends SendSummary {
  /** A digit for each recipient: the code of its status. */
  statuses: string;
}

/** What a send says. Nothing once it is forgotten, and never of a one-time password. */
export interface SendContent {
  text?: string;
  file?: { type: string; mimeType: string; sizeBytes: number; name?: string };
}

/** One recipient of a send. */
export interface RecipientRow {
  /** Place in the send. */
  index: number;
  /** Digits, masked for viewers, or `forgotten`. */
  to: string;
  status: RecipientStatus;
  /** Why: a name of docs/errors.md. */
  error?: string;
  atMs: number;
}

/** What would become of a send, before it is made. */
export interface SendPreview {
  /** Those who are on the list of opt-outs, as they were asked for. */
  optedOut: string[];
  finishAtMs: number;
  expiresAtMs: number;
}

/** What a phone of a simulated network shows of a send. */
export interface PhoneView {
  /** Digits. */
  to: string;
  /** In the order in which they came; none before the first. */
  messages: ShownMessage[];
}

/** A message on the screen of a phone. */
export interface ShownMessage {
  /** `text`, or the kind of file. */
  type: string;
  text?: string;
  /** Name of a document. */
  file?: string;
  atMs: number;
  readAtMs?: number;
}
