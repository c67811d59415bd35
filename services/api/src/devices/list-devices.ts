import { fromBase32, toBase32 } from '@gateway/contracts/base32';
import { deriveStatus, UNAVAILABLE } from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import type { Store } from '@gateway/store/core/store';
import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { listDevices as readIds } from '@gateway/store/devices/devices';
import { hasSender } from '@gateway/store/fleet/members';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { describeRestriction, statusFields } from './status-fields.js';

interface ListQuery {
  after?: string;
  limit: number;
}

/** `GET /devices`: the devices of the workspace with their states; to a token of one device, that one. */
export const listDevices: Endpoint<ListQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/devices',
  bucket: 'status',
  scope: 'read',
  readsMuch: true,
  query: Joi.object<ListQuery>({
    after: Joi.string()
      .pattern(/^[0-9a-hjkmnp-tv-z]{2,64}$/)
      .description('The `nextCursor` of the previous page.'),
    limit: Joi.number().integer().min(1).max(100).default(50).description('Devices per page.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listDevices',
    summary: 'List devices',
    description:
      'Lists the devices of the workspace by their ids, each with its connection status. A token of one device sees that one only.',
    answer: {
      status: 200,
      description: 'One page of the list.',
      body: Joi.object({
        devices: Joi.array()
          .items(
            Joi.object({
              device: Joi.string().required().description('Id of the device.'),
              isDefault: Joi.boolean().required().description('Whether tokens without a device act on it.'),
              backlog: Joi.number()
                .integer()
                .allow(null)
                .required()
                .description('Messages that wait on the device; null where that is not known (`data_unavailable`).'),
              ...statusFields,
            }),
          )
          .required(),
        nextCursor: Joi.string().allow(null).required().description('For the next page; null on the last one.'),
      }),
    },
    errors: [],
  },

  async handle({ query: { after, limit }, workspace, token }, { store }) {
    const [ids, defaultDevice, isServed] = await Promise.all([
      readIds(store, workspace),
      readDefaultDevice(store, workspace),
      hasSender(store),
    ]);
    const first = after === undefined ? '' : fromBase32(after).toString('latin1');
    const left = ids.filter((id) => id > first && (token.device === undefined || id === token.device));
    const page = left.slice(0, limit);
    const devices = await Promise.all(
      page.map(async (device) => ({
        ...{ device, isDefault: device === defaultDevice },
        ...(await describe(store, { workspace, device }, isServed)),
      })),
    );
    const nextCursor = left.length > page.length ? toBase32(Buffer.from(page.at(-1)!)) : null;
    return { status: 200, body: { devices, nextCursor } };
  },
};

async function describe(store: Store, address: DeviceAddress, isServed: boolean) {
  const state = await readDeviceState(store, address).catch(unlessRedisIsAway);
  if (!state) return { backlog: null, ...UNAVAILABLE };
  const { desired, observed, isOwned, restriction, waitingMessages } = state;
  return {
    backlog: Math.max(0, waitingMessages),
    ...deriveStatus(desired, observed, isOwned, { hasSender: isOwned || isServed }),
    ...(restriction && { restriction: describeRestriction(restriction) }),
  };
}
