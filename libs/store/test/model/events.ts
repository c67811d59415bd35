import type { SendKind } from '@gateway/contracts/content/message-content';

export const PEOPLE = 4;
/** Ownerships of a sequence have TTLs of this and a multiple of it: what is left of them is rounded up to it. */
export const TTL_STEP_MS = 600_000;

/** What the network, or the owner for it, says of one message. */
export interface News {
  recipient: number;
  part: number;
  event: 'acked' | 'delivered' | 'read' | 'failed' | 'revoked' | 'returned' | 'held';
  errorCode: number;
}

/**
 * All that can happen to the sends of one device, as plain data: a sequence of these is a test. Sends are counted from the
 * first that was accepted, ownerships back from the newest (0 holds the device, if any does), people and keys by number.
 */
export type ModelEvent =
  | { do: 'pass'; ms: number }
  | { do: 'acquire'; ttlMs: number }
  | { do: 'renew'; ownership: number; ttlMs: number }
  | { do: 'release'; ownership: number }
  /** Its owner was silent for the whole TTL. */
  | { do: 'lapse' }
  | {
      do: 'accept';
      kind: Extract<SendKind, 'text' | 'otp'>;
      parts: number;
      people: readonly number[];
      expiresInMs: number;
      key?: number;
      /** `none`: ended sends of the same token are forgotten for it. */
      room: 'plenty' | 'none';
      /** While its file was fetched, say, another account was linked. */
      isLate?: true;
    }
  | { do: 'takeIn'; ownership: number; send: number }
  | { do: 'claim'; ownership: number; send: number; recipient: number; part: number }
  | { do: 'report'; ownership: number; send: number; news: readonly News[] }
  | { do: 'cancel'; send: number }
  /** What is over is ended: by the owner, who meets it, or by the steward of the shard, who owns nothing. */
  | { do: 'expire'; by: 'owner' | 'steward' }
  | { do: 'forgetPerson'; send: number; person: number }
  | { do: 'takeAccount'; ownership: number; account: number }
  | { do: 'logOut'; ownership: number }
  | { do: 'optOut'; person: number }
  | { do: 'optIn'; person: number }
  /** The owner fails those who take no messages. */
  | { do: 'dropOptedOut'; ownership: number; send: number }
  | { do: 'claimKey'; key: number }
  /** Claims are counted like ownerships: an older one is stale. */
  | { do: 'releaseKey'; key: number; claim: number }
  | { do: 'lapseKey'; key: number }
  | { do: 'answerKey'; key: number; send: number; answer: number }
  /** The request failed after its send was written down. */
  | { do: 'freeKey'; key: number; send: number };

/** What the caller was told; `skipped` for what cannot happen in this state. */
export type Reply = unknown;
