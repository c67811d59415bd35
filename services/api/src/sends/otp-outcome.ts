import { type DeviceAddress, type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { ApiError, toError } from '@gateway/runtime/errors';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { findSurely, writeTogether } from '@gateway/store/core/confirming/write-together';
import type { Store } from '@gateway/store/core/store';
import { waitFor } from '@gateway/store/core/wait-for';
import { forgetRepeat, keepAnswer } from '@gateway/store/sends/accepting/idempotency';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';

/** An OTP that was promised. */
export interface Otp {
  messageId: MessageId;
  platformMessageId: string;
  /** The sending device: of a replay, that of the first request. */
  address: DeviceAddress;
  /** The Redis key of the caller's idempotency key. */
  idempotencyKey?: string;
}

type Outcome = { sentAtMs: number } | { failure: string };

/** The part of the answer that is not in the request; kept for replays. */
export interface OtpAnswer {
  messageId: MessageId;
  platformMessageId: string;
  /** ISO 8601. Absent: not sent yet. */
  sentAt?: string;
}

/**
 * Waits for the network's verdict on an OTP, and settles the answer of retries: its success, or a new attempt.
 * Throws 422 when it was not sent, once replicas have that: the next master would send it else. Until they have it waits on, and throws
 * `not_confirmed` at last: a repeat waits for the same OTP. A process that stops answers as if the time were over, for the OTP is
 * promised, and so it does when Redis is away and stays away. When the caller is gone there is no answer, and a repeat waits for its own.
 */
export async function waitForOtp(
  { signal }: Pick<Call<unknown, unknown>, 'signal'>,
  deps: ApiDeps,
  { messageId, platformMessageId, address, idempotencyKey: key }: Otp,
): Promise<OtpAnswer> {
  const { store, stopping } = deps;
  let doubt: Error | undefined;
  const look = async () => {
    let hasFailed = false;
    const onFailure = () => {
      hasFailed = true;
    };
    try {
      const outcome = await findOutcome(store, address, messageId, onFailure);
      doubt = undefined;
      return outcome;
    } catch (thrown) {
      if (hasFailed) doubt = toError(thrown);
      return unlessRedisIsAway(thrown);
    }
  };
  const outcome = await waitFor(deps, address, {
    topics: ['results'],
    look,
    timeoutMs: deps.waits.otpMs,
    signal,
  }).catch((thrown: unknown) => {
    if (stopping.aborted) return undefined;
    throw thrown;
  });
  if (outcome && 'failure' in outcome) {
    if (key) await writeTogether(store, key, () => forgetRepeat(store, key, messageId));
    throw toApiError(outcome.failure);
  }
  if (!outcome && doubt) throw doubt;
  const answer = { messageId, platformMessageId, ...(outcome && { sentAt: new Date(outcome.sentAtMs).toISOString() }) };
  // A repeat that finds no answer waits for its own.
  if (key) await keepAnswer(store, { key, messageId, answer }).catch(unlessRedisIsAway);
  return answer;
}

/** Once replicas have it, if it was not sent: what was, the phone has. `undefined` while it is queued. */
function findOutcome(
  store: Store,
  address: DeviceAddress,
  messageId: MessageId,
  onFailure: () => void,
): Promise<Outcome | undefined> {
  const { tag } = parseMessageId(messageId)!;
  return findSurely(store, sendKeys(store.space, address, tag).record, {
    read: () => readOutcome(store, address, messageId),
    isAnything: (outcome) => {
      const isFailure = outcome !== undefined && 'failure' in outcome;
      if (isFailure) onFailure();
      return isFailure;
    },
  });
}

async function readOutcome(store: Store, address: DeviceAddress, messageId: MessageId): Promise<Outcome | undefined> {
  const { tag } = parseMessageId(messageId)!;
  const [send, [recipient]] = await Promise.all([
    readSend(store, address, messageId),
    readRecipients(store, address, tag, { from: 0, limit: 1 }),
  ]);
  if (!send || !recipient || recipient.status === 'queued') return undefined;
  const { status, errorCode, atMs } = recipient;
  if (status === 'failed' || status === 'expired' || status === 'cancelled') {
    return { failure: recipientErrorName(errorCode) ?? status };
  }
  return { sentAtMs: send.sentAtMs ?? atMs };
}

function toApiError(failure: string): ApiError {
  if (failure === 'not_on_messenger') return new ApiError('not_on_messenger');
  return new ApiError('otp_not_sent', { details: [{ path: ['phone'], message: failure }] });
}
