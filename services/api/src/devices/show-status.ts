import { deriveStatus, REASONS } from '@gateway/contracts/devices/device-state';
import { type HeldRestriction, RESTRICTIONS } from '@gateway/contracts/devices/restriction';
import { hasSender } from '@gateway/store/fleet/members';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';

type NoQuery = Record<string, never>;

/** `GET /status`: whether the device is connected, as whom, and else why not. */
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
          .description(
            'Why the device is not connected; `no_sender`: no sender runs, or all are full, and what people write is kept by ' +
              'the network until one takes the device; `awaiting_backlog` of one that is: what people wrote while it was away has not ' +
              'all arrived yet, and lists wait for it. One-time passwords do not.',
          ),
        networkReason: Joi.string().description(
          'What the network itself gave as its reason for the end of the last connection; absent where it gave none.',
        ),
        restriction: Joi.object({
          kind: Joi.string()
            .valid(...Object.keys(RESTRICTIONS))
            .required(),
          since: Joi.string().required().description('ISO 8601: when the gateway learned of it.'),
          until: Joi.string()
            .allow(null)
            .required()
            .description('ISO 8601: its end, as the network says; null when it does not say.'),
        }).description(
          'The network lets the account start no new conversations. Messages to people whom it has none with wait until ' +
            'it does again, or until they expire; all others go on. Absent when there is no such restriction.',
        ),
      }),
    },
    errors: [],
  },
  async handle({ readState }, { store, workspace }) {
    const { desired, observed, isOwned, restriction } = await readState();
    const senders = { hasSender: isOwned || (await hasSender(store, workspace)) };
    const status = deriveStatus(desired, observed, isOwned, senders);
    return { status: 200, body: { ...status, ...(restriction && { restriction: describe(restriction) }) } };
  },
};

function describe({ kind, sinceMs, untilMs }: HeldRestriction) {
  return {
    kind,
    since: new Date(sinceMs).toISOString(),
    until: untilMs === undefined ? null : new Date(untilMs).toISOString(),
  };
}
