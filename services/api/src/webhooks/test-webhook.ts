import { makeTestEvent } from '@gateway/contracts/webhooks/test-event';
import { WEBHOOK_STATUSES, wasTaken } from '@gateway/contracts/webhooks/webhook';
import { shownHost } from '@gateway/egress/egress-error';
import { postWebhook } from '@gateway/egress/post-webhook';
import { ApiError } from '@gateway/runtime/errors';
import { describeAttempt } from '@gateway/store/webhooks/describe-webhook';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { Turns } from '../http/turns.js';
import { attemptAnswer } from './attempt-fields.js';
import { foundWebhook } from './webhook-fields.js';

type Nothing = Record<string, never>;

/** Each may have a server at its other end that answers slowly, or without end. */
const TURNS = new Turns(5);
const TURN_WAIT_MS = 10_000;

/** `POST /webhooks/{webhookId}/test`: one request, at once, whose answer the caller gets to see. */
export const testWebhook: Endpoint<Nothing, Nothing> = {
  methods: ['post'],
  path: '/webhooks/:webhookId/test',
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'testWebhook',
    summary: 'Test a webhook',
    description:
      'Sends a signed `webhook.test` to the endpoint and waits for its answer, 15 seconds at most. With a 2xx an `unverified` endpoint ' +
      'becomes `active`, and to one that is `failing` what waits is sent at once. Works in every status. Five tests of a token run at a time; others wait for 10 seconds.',
    answer: {
      status: 200,
      description: 'What the endpoint answered.',
      body: Joi.object({
        ...attemptAnswer,
        webhookStatus: Joi.string()
          .valid(...WEBHOOK_STATUSES)
          .required()
          .description('Of the endpoint now.'),
      }),
    },
    errors: ['not_found', 'not_confirmed'],
  },

  async handle({ params, workspace, token, signal, logger }, { store, clock, webhookPolicy: policy }) {
    const id = params.webhookId!;
    const { target, revision, attempt } = await TURNS.run({ token, signal }, TURN_WAIT_MS, async () => {
      const { target, secrets, revision } = foundWebhook(await readWebhook(store, workspace, id));
      const event = makeTestEvent(id, clock.nowMs());
      return { target, revision, ...(await postWebhook({ target, secrets, ...event }, { policy, clock, signal })) };
    });
    const verifiesRevision = wasTaken(attempt) ? revision : undefined;
    const status = await recordAttempt(store, workspace, id, { attempt, verifiesRevision });
    const host = shownHost(new URL(target.url).hostname);
    logger.info('webhook tested', { webhookId: id, host, answered: attempt.status, reason: attempt.error });
    if (status === 'gone') throw new ApiError('not_found');
    const audit = { action: 'webhook.tested', target: id } as const;
    return { status: 200, body: { ...describeAttempt(attempt), webhookStatus: status }, audit };
  },
};
