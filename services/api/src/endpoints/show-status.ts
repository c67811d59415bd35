import { deriveStatus } from '@gateway/contracts/device-state';
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
  async handle({ address }, { store }) {
    const { desired, observed, leaseHeld } = await readDeviceState(store, address);
    return { status: 200, body: { ...deriveStatus(desired, observed, leaseHeld) } };
  },
};
