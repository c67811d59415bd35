import { deriveStatus } from '@gateway/contracts/devices/device-state';
import type { HeldRestriction } from '@gateway/contracts/devices/restriction';
import type { DeviceAddress } from '@gateway/contracts/ids';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { type PlatformIds, platformIds } from '@gateway/contracts/sends/platform-id';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { RECIPIENT_STATUSES, sendStatus } from '@gateway/contracts/sends/statuses';
import { type DeviceState, readDeviceState } from '@gateway/store/devices/device-state';
import { type Device, readDevice, readIdKey } from '@gateway/store/devices/devices';
import { readPaceWaitMs } from '@gateway/store/sends/pace';
import { readRecipients, type SendRecord } from '@gateway/store/sends/read-send';
import type { ApiDeps } from '../api-deps.js';
import { countsSchema, sendStatusSchema } from '../documents/send-schemas.js';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { findMessage } from './find-message.js';

interface PageQuery {
  /** Index of the first recipient of the page; callers pass on `nextCursor`. */
  cursor: number;
  limit: number;
}

const recipientSchema = Joi.object({
  to: Joi.string().required().description('The number as it was given; `forgotten` after an operator removed it.'),
  status: Joi.string()
    .valid(...RECIPIENT_STATUSES)
    .required(),
  platformMessageIds: Joi.array()
    .items(Joi.string())
    .required()
    .description('Message ids in the network, from the first attempt on.'),
  error: Joi.string()
    .allow(null)
    .required()
    .description(
      'Why it failed or expired: `not_on_messenger`, `network_403`, ... For a queued recipient, what it waits for besides its ' +
        'turn: `looked_up_again`, `new_contacts_held`, `awaiting_history`, `awaiting_key`, `network_463`; `awaiting_backlog`: ' +
        'messages that people wrote while the device was offline have not all arrived, and a STOP may be among them; `paced`: ' +
        'the pace of the device does not allow the next message yet.',
    ),
  at: Joi.string().required().description('When the status last changed.'),
  heldUntil: Joi.string()
    .allow(null)
    .description(
      'Only for a queued recipient who waits for the end of a restriction: ISO 8601, null when the network gives no time. ' +
        'See `restriction` in `GET /status`.',
    ),
});

/** `GET /messages/{messageId}`: the status of a send, with its recipients page by page. */
export const showMessage: Endpoint<PageQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/messages/:messageId',
  bucket: 'messages',
  scope: 'read',
  readsMuch: true,
  query: Joi.object<PageQuery>({
    cursor: Joi.number().integer().min(0).max(100_000).default(0).description('The `nextCursor` of the previous page.'),
    limit: Joi.number().integer().min(1).max(1_000).default(100).description('Recipients per page.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'showMessage',
    summary: 'Show the status of a message',
    description:
      'Counts the recipients of a send by status and lists them page by page, in the order of the request. A send can be ' +
      'read for 7 days after its last recipient is settled. When the sends of one token take more than a fifth of the memory, ' +
      'its oldest finished sends are deleted earlier.',
    answer: {
      status: 200,
      description: 'The send and one page of its recipients.',
      body: Joi.object({
        messageId: Joi.string().required(),
        status: sendStatusSchema.required(),
        counts: countsSchema.required(),
        createdAt: Joi.string().required(),
        expiresAt: Joi.string().required(),
        recipients: Joi.array().items(recipientSchema).required(),
        nextCursor: Joi.string().allow(null).required().description('For the next page; null on the last one.'),
      }),
    },
    errors: ['not_found'],
  },

  async handle({ params, query, workspace, token }, deps) {
    const { store } = deps;
    const { address, send } = await findMessage(store, { id: params.messageId!, workspace, token });
    const [idKey, device, state, page] = await Promise.all([
      readIdKey(store, address),
      readDevice(store, address),
      readDeviceState(store, address),
      readRecipients(store, address, send.tag, { from: query.cursor, limit: query.limit }),
    ]);
    const wait = { restriction: state.restriction, inTurn: await turnOf(deps, address, { send, device, state }) };
    const next = query.cursor + page.length;
    const ids = platformIds(idKey!);
    return {
      status: 200,
      body: {
        messageId: send.messageId,
        status: sendStatus(send.counts),
        counts: send.counts,
        createdAt: new Date(send.createdAtMs).toISOString(),
        expiresAt: new Date(send.expiresAtMs).toISOString(),
        recipients: page.map((recipient) => ({
          ...describeRecipient(recipient, send, ids),
          ...describeWait(recipient, wait),
        })),
        nextCursor: page.length > 0 && next < send.total ? String(next) : null,
      },
    };
  },
};

function describeRecipient(recipient: RecipientView, send: SendRecord, ids: PlatformIds) {
  const { index, to, status, attempts, errorCode, atMs } = recipient;
  const mayHaveError = status === 'failed' || status === 'expired';
  const parts = attempts > 0 ? Array.from({ length: send.parts }, (_, part) => part) : [];
  return {
    to,
    status,
    platformMessageIds: parts.map((part) => ids.make({ tag: send.tag, recipient: index, part })),
    error: (mayHaveError && recipientErrorName(errorCode)) || null,
    at: new Date(atMs).toISOString(),
  };
}

/** One reason for all of them: the order also depends on other sends. */
async function waitsForPace(
  { store, clock, defaultPace }: Pick<ApiDeps, 'store' | 'clock' | 'defaultPace'>,
  address: DeviceAddress,
  device: Device | undefined,
): Promise<boolean> {
  const pace = device?.pace ?? defaultPace;
  return (await readPaceWaitMs(store, address, { pace, nowMs: clock.nowMs() })) > 0;
}

/** The reason for all recipients of a send without a reason of their own. */
async function turnOf(
  deps: Pick<ApiDeps, 'store' | 'clock' | 'defaultPace'>,
  address: DeviceAddress,
  { send, device, state }: { send: SendRecord; device: Device | undefined; state: DeviceState },
): Promise<{ error?: string }> {
  const status = deriveStatus(state.desired, state.observed, state.isOwned);
  if (status.status === 'connected' && status.reason && send.priority !== 'otp') return { error: status.reason };
  return (await waitsForPace(deps, address, device)) ? { error: 'paced' } : {};
}

/** Why a queued recipient waits, and until when where it is known. */
function describeWait(
  { status, errorCode }: RecipientView,
  { restriction, inTurn }: { restriction: HeldRestriction | undefined; inTurn: { error?: string } },
) {
  if (status !== 'queued') return {};
  const error = recipientErrorName(errorCode);
  if (error !== 'new_contacts_held') return error ? { error } : inTurn;
  // Its mark outlives the restriction until the next attempt.
  if (!restriction) return inTurn;
  const { untilMs } = restriction;
  return { error, heldUntil: untilMs === undefined ? null : new Date(untilMs).toISOString() };
}
