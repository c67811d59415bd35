import { deriveStatus, REASONS } from '@gateway/contracts/device-state';
import { readDeviceState } from '@gateway/store/device-state';
import type { Endpoint } from '../endpoint.js';
import { Joi } from '../input-types.js';
import { NO_BODY_BYTES, noBody } from '../no-body.js';

type NoQuery = Record<string, never>;

/** `GET /status`: whether the device is connected, as whom, and else why not. */
export const showStatus: Endpoint<NoQuery, NoQuery> = {
  methods: ['get'],
  path: '/status',
  bucket: 'status',
  query: Joi.object<NoQuery>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'showStatus',
    summary: 'Show the connection status',
    description: 'Tells whether the device is connected, as which account, and else why not.',
    answer: {
      status: 200,
      description: 'The status of the device.',
      body: Joi.object({
        status: Joi.string().valid('connected', 'connecting', 'disconnected').required(),
        phone: Joi.string().description('Number of the linked account; when connected.'),
        name: Joi.string().description('Name of the account, else its number; when connected.'),
        profilePic: Joi.string().description('URL of the profile picture; when connected and the account shows it.'),
        reason: Joi.string()
          .valid(...Object.keys(REASONS))
          .description('Why the device is not connected.'),
      }),
    },
    errors: [],
  },
  async handle({ address }, { store }) {
    const { desired, observed, leaseHeld } = await readDeviceState(store, address);
    return { status: 200, body: { ...deriveStatus(desired, observed, leaseHeld) } };
  },
};
