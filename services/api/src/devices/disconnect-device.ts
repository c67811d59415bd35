import { type DeviceAddress, makeAttemptId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { ApiError } from '@gateway/runtime/errors';
import { isNotConfirmed } from '@gateway/runtime/redis/is-redis-away';
import { findSurely, writeTogether } from '@gateway/store/core/confirming/write-together';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { waitFor } from '@gateway/store/core/wait-for';
import { type DeviceState, readDeviceState, requestUnlink } from '@gateway/store/devices/device-state';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';

type Nothing = Record<string, never>;
type Outcome = keyof typeof MESSAGES;
/** `forgotten`: the next master does not know of the request. */
type Found = Exclude<Outcome, 'nothingLinked'> | 'forgotten';

/** The result, as a sentence. The account is no longer on this device in any case. */
const MESSAGES = {
  nothingLinked: 'No account was linked to this device.',
  confirmed: 'Disconnected and logged out.',
  unconfirmed:
    'Disconnected. The messenger network could not be told: the phone may still list this device, remove it there.',
  pending:
    'Disconnected. The messenger network has not confirmed yet: until then the phone may still list this device.',
} as const;

/** `POST /disconnect`: logs the account out and wipes its keys. Safe to repeat. */
export const disconnectDevice: Endpoint<Nothing, Nothing> = {
  methods: ['post'],
  path: '/disconnect',
  bucket: 'disconnect',
  scope: 'connect',
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'disconnectDevice',
    summary: 'Log the account out',
    description:
      'Logs the account out of the network and deletes its keys. Queued messages stay queued until they expire, and go out ' +
      'if the same account is linked again. Safe to repeat, also after `Not confirmed, and may still happen`: until an answer ' +
      'of 200 the account may stay linked.',
    answer: {
      status: 200,
      description: 'The device has no account any more; `message` says whether the network confirmed the logout.',
      body: Joi.object({ message: Joi.string().required() }),
    },
    errors: ['not_confirmed'],
  },

  async handle({ address, signal, token: { keyId } }, deps) {
    const { store } = deps;
    const { desired } = deviceKeys(store.space, address);
    // Also where it joins an earlier request, or finds nothing: replicas may not have what made it so.
    const { outcome, attemptId } = await writeTogether(store, desired, async () => {
      const requested = await requestUnlink(store, address, { attemptId: makeAttemptId(), keyId });
      // What may still happen happens at once: its owner would look half a minute later.
      if (requested.outcome !== 'nothingLinked') await ringDoorbell(store, { topic: 'desired', ...address });
      return requested;
    });
    if (outcome === 'nothingLinked') return describe('nothingLinked');
    const found = await waitFor(deps, address, {
      topics: ['observed', 'desired'],
      look: () => lookForOutcome(store, address, attemptId),
      timeoutMs: deps.waits.logoutMs,
      signal,
    });
    if (found === 'forgotten') throw new ApiError('unavailable');
    return { ...describe(found ?? 'pending'), audit: { action: 'device.disconnected', target: address.device } };
  },
};

/** `undefined` also while replicas do not have it: they have the request, so that goes on whatever becomes of this. */
function lookForOutcome(store: Store, address: DeviceAddress, attemptId: string): Promise<Found | undefined> {
  return findSurely(store, deviceKeys(store.space, address).observed, {
    read: async () => findOutcome(await readDeviceState(store, address), attemptId),
    isAnything: (found) => found !== undefined && found !== 'forgotten',
  }).catch((thrown: unknown) => {
    if (!isNotConfirmed(thrown)) throw thrown;
    return undefined;
  });
}

function findOutcome({ desired, observed }: DeviceState, attemptId: string): Found | undefined {
  if (observed?.attemptId === attemptId && observed.logout) return observed.logout;
  if (desired?.attemptId === attemptId) return undefined;
  // A new link has been requested already: that attempt logs the old account out first. It is seen before an account is linked by it.
  return desired?.want === 'linked' || desired?.want === 'parked' ? 'forgotten' : 'pending';
}

function describe(outcome: Outcome) {
  return { status: 200, body: { message: MESSAGES[outcome] } };
}
