import { sendStatus } from '@gateway/contracts/sends/statuses';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { releaseBlobs } from '@gateway/store/blobs/blobs';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { cancelSend } from '@gateway/store/sends/change-send';
import { countsSchema, sendStatusSchema } from '../documents/send-schemas.js';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { findMessage } from './find-message.js';

type Nothing = Record<string, never>;

/** `DELETE /messages/{messageId}`: cancels what has not been sent yet. Safe to repeat. */
export const cancelMessage: Endpoint<Nothing, Nothing> = {
  methods: ['delete'],
  path: '/messages/:messageId',
  bucket: 'messages',
  scope: 'send',
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'cancelMessage',
    summary: 'Cancel what has not been sent yet',
    description:
      'Recipients whose phones cannot have the message yet become `cancelled`; all others keep their status. Safe to repeat.',
    answer: {
      status: 200,
      description: 'The send as it is now.',
      body: Joi.object({
        messageId: Joi.string().required(),
        status: sendStatusSchema.required(),
        counts: countsSchema.required(),
      }),
    },
    errors: ['not_found', 'not_confirmed'],
  },

  async handle({ params, workspace, token, logger }, { store }) {
    const request = { id: params.messageId!, workspace, token };
    const { address, send } = await findMessage(store, request);
    const outcome = await cancelSend(store, address, send.messageId);
    await ringDoorbell(store, { topic: 'sends', ...address });
    // The steward does it later.
    await releaseBlobs(store, address).catch(unlessRedisIsAway);
    logger.info('send cancelled', {
      device: address.device,
      messageId: send.messageId,
      recipients: outcome?.cancelled,
    });
    const { send: after } = await findMessage(store, request);
    return {
      status: 200,
      body: { messageId: send.messageId, status: sendStatus(after.counts), counts: after.counts },
      ...(outcome && outcome.cancelled > 0 && { audit: { action: 'message.cancelled', target: send.messageId } }),
    };
  },
};
