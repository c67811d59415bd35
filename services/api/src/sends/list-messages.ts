import type { SendKind } from '@gateway/contracts/content/message-content';
import { KIND_CODES } from '@gateway/contracts/content/message-content';
import type { DeviceId } from '@gateway/contracts/ids';
import { RECIPIENT_STATUSES, type SendStatus, sendStatus } from '@gateway/contracts/sends/statuses';
import { CURSOR, fromCursor, toCursor } from '@gateway/store/sends/listing/list-cursor';
import { type FoundSend, listSends } from '@gateway/store/sends/listing/list-sends';
import { countsSchema, sendStatusSchema } from '../documents/send-schemas.js';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';

interface ListQuery {
  device?: DeviceId;
  status?: SendStatus;
  kind?: SendKind;
  after?: string;
  limit: number;
}

const kindSchema = Joi.string().valid(...Object.keys(KIND_CODES));

/** `GET /messages`: the sends that the token may see, the newest first. */
export const listMessages: Endpoint<ListQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/messages',
  bucket: 'messages',
  scope: 'read',
  readsMuch: true,
  query: Joi.object<ListQuery>({
    device: Joi.string()
      .pattern(/^[a-z0-9-]{1,40}$/)
      .description('Only those of this device.'),
    status: Joi.string()
      .valid(...RECIPIENT_STATUSES, 'sending')
      .description('Only those that are this far.'),
    kind: kindSchema.description('Only those of this kind.'),
    after: Joi.string().pattern(CURSOR).description('The `nextCursor` of the previous page.'),
    limit: Joi.number().integer().min(1).max(100).default(50).description('Messages per page.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listMessages',
    summary: 'List messages',
    description:
      'Lists the sends of this token, or with the scope `admin` all of the workspace; to a token of one device, only those of that ' +
      'device. The newest come first. A send is listed for as long as it can be read: see `GET /messages/{messageId}`. With a filter a ' +
      'page may have fewer messages than `limit`, even none, while there are more: the list ends where `nextCursor` is null.',
    answer: {
      status: 200,
      description: 'One page of the list.',
      body: Joi.object({
        messages: Joi.array()
          .items(
            Joi.object({
              messageId: Joi.string().required(),
              device: Joi.string().required(),
              kind: kindSchema.required(),
              status: sendStatusSchema.required(),
              recipients: Joi.number().integer().required(),
              counts: countsSchema.required(),
              createdAt: Joi.string().required(),
              expiresAt: Joi.string().required(),
            }),
          )
          .required(),
        nextCursor: Joi.string().allow(null).required().description('For the next page; null on the last one.'),
      }),
    },
    errors: [],
  },

  async handle({ query, workspace, token }, { store }) {
    const { device = token.device, status, kind, after, limit } = query;
    if (token.device !== undefined && device !== token.device) return { status: 200, body: NO_MESSAGES };
    const { sends, next } = await listSends(store, workspace, {
      limit,
      ...(device !== undefined && { device }),
      ...(status !== undefined && { statuses: [status] }),
      ...(kind !== undefined && { kind }),
      ...(after !== undefined && { before: fromCursor(after) }),
      ...(!token.scopes.includes('admin') && { owner: token.owner }),
    });
    return { status: 200, body: { messages: sends.map(describe), nextCursor: next ? toCursor(next) : null } };
  },
};

/** Of a device that the token does not act on it sees nothing, whether it is there or not. */
const NO_MESSAGES = { messages: [], nextCursor: null };

function describe({ address: { device }, send }: FoundSend) {
  const { messageId, kind, total, counts, createdAtMs, expiresAtMs } = send;
  return {
    ...{ messageId, device, kind, status: sendStatus(counts), recipients: total, counts },
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: new Date(expiresAtMs).toISOString(),
  };
}
