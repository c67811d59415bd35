import { makeAttemptId } from '@gateway/contracts/ids';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { type DeviceState, requestUnlink } from '@gateway/store/devices/device-state';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { waitForDevice } from './wait-for-device.js';

type Nothing = Record<string, never>;
type Outcome = keyof typeof MESSAGES;

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
      'if the same account is linked again. Safe to repeat.',
    answer: {
      status: 200,
      description: 'The device has no account any more; `message` says whether the network confirmed the logout.',
      body: Joi.object({ message: Joi.string().required() }),
    },
    errors: [],
  },

  async handle({ address, signal, token: { keyId } }, deps) {
    const { outcome, attemptId } = await requestUnlink(deps.store, address, { attemptId: makeAttemptId(), keyId });
    if (outcome === 'nothingLinked') return describe('nothingLinked');
    await ringDoorbell(deps.store, { topic: 'desired', ...address });
    const found = await waitForDevice(deps, address, {
      look: (state) => findOutcome(state, attemptId),
      timeoutMs: deps.waits.logoutMs,
      signal,
    });
    return { ...describe(found ?? 'pending'), audit: { action: 'device.disconnected', target: address.device } };
  },
};

function findOutcome({ desired, observed }: DeviceState, attemptId: string): Outcome | undefined {
  if (observed?.attemptId === attemptId && observed.logout) return observed.logout;
  // A new link has been requested already: that attempt logs the old account out first.
  return desired?.attemptId === attemptId ? undefined : 'pending';
}

function describe(outcome: Outcome) {
  return { status: 200, body: { message: MESSAGES[outcome] } };
}
