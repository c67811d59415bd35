import type { StatusCounts } from '@gateway/contracts/sends/statuses';
import type { Delivery } from './phone-client.js';

/** The last line of `npm run demo -- --json`. Counts are of recipients over all sends. */
export interface DemoResult {
  /** The device linked by QR says it is connected. */
  linked: boolean;
  /** The device linked by pairing code says it is connected. */
  pairedByCode: boolean;
  /** Recipients that the API took on. */
  accepted: number;
  /** Acknowledged by the network, whatever followed. */
  sent: number;
  /** Arrived on the phone, read or not. */
  delivered: number;
  read: number;
  /** Failed, expired or cancelled. */
  failed: number;
  /** Accepted, but no phone shows it. */
  lost: number;
  /** Shown more than once. */
  duplicates: number;
  /** Recipients whose last event says that they read it. */
  told: number;
  /** From the first send to the last read receipt. */
  seconds: number;
}

/** One send with everything that the gateway and the phones say of it at the end. */
export interface SendOutcome {
  accepted: number;
  counts: StatusCounts;
  /** As the gateway lists them. */
  recipients: string[];
  text: string;
  /** What phones got from the account that sent it. */
  deliveries: Delivery[];
}

/** Adds up what the API and the phones say. Nothing here comes from what was asked for. */
export function countOutcomes(outcomes: readonly SendOutcome[]) {
  const sum = (count: (outcome: SendOutcome) => number) => outcomes.reduce((total, each) => total + count(each), 0);
  return {
    accepted: sum(({ accepted }) => accepted),
    sent: sum(({ counts }) => counts.sent + counts.delivered + counts.read),
    delivered: sum(({ counts }) => counts.delivered + counts.read),
    read: sum(({ counts }) => counts.read),
    failed: sum(({ counts }) => counts.failed + counts.expired + counts.cancelled),
    lost: sum((outcome) => [...timesShown(outcome).values()].filter((times) => times === 0).length),
    duplicates: sum((outcome) => [...timesShown(outcome).values()].filter((times) => times > 1).length),
  };
}

/** How often each recipient's phone showed this text, under any id. */
function timesShown({ recipients, text, deliveries }: SendOutcome): Map<string, number> {
  const shown = new Map(recipients.map((number) => [number, 0]));
  for (const delivery of deliveries) {
    if (delivery.text === text) shown.set(delivery.to, (shown.get(delivery.to) ?? 0) + delivery.shown);
  }
  return shown;
}

/** Why the demo did not show what it promises, or `undefined`. */
export function findFault(result: DemoResult): string | undefined {
  if (!result.linked) return 'the device could not be linked by QR';
  if (!result.pairedByCode) return 'the device could not be linked by pairing code';
  if (result.lost > 0) return `${result.lost} messages were lost`;
  if (result.duplicates > 0) return `${result.duplicates} messages were shown more than once`;
  if (result.failed > 0) return `${result.failed} messages failed`;
  if (result.read < result.accepted) return `${result.accepted - result.read} messages were not read`;
  if (result.told !== result.read) return `${result.told} recipients were told as read, and ${result.read} are`;
  return undefined;
}
