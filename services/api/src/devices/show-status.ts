import { deriveStatus } from '@gateway/contracts/devices/device-state';
import { hasSender } from '@gateway/store/fleet/members';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { describeRestriction, statusFields } from './status-fields.js';

type NoQuery = Record<string, never>;

/** `GET /status`: whether the device is connected and to which account, or why not. */
export const showStatus: Endpoint<NoQuery, NoQuery> = {
  methods: ['get'],
  path: '/status',
  bucket: 'status',
  scope: 'read',
  query: Joi.object<NoQuery>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  readsState: true,
  docs: {
    operationId: 'showStatus',
    summary: 'Show the connection status',
    description: 'Shows whether the device is connected and to which account, or why it is not.',
    answer: { status: 200, description: 'The status of the device.', body: Joi.object(statusFields) },
    errors: [],
  },
  async handle({ readState }, { store }) {
    const { desired, observed, isOwned, restriction } = await readState();
    const senders = { hasSender: isOwned || (await hasSender(store)) };
    const status = deriveStatus(desired, observed, isOwned, senders);
    return { status: 200, body: { ...status, ...(restriction && { restriction: describeRestriction(restriction) }) } };
  },
};
