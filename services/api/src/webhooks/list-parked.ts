import { listParked as list, parseParkedPlace, sayParkedPlace } from '@gateway/store/webhooks/delivering/parked/parked';
import { describeParked } from '@gateway/store/webhooks/describe-webhook';
import { findWebhook } from '@gateway/store/webhooks/webhooks';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { foundWebhook } from './webhook-fields.js';

interface ListQuery {
  after?: string;
  limit: number;
}

/** `GET /webhooks/{webhookId}/parked`: what an endpoint refuses. */
export const listParked: Endpoint<ListQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/webhooks/:webhookId/parked',
  bucket: 'webhooks',
  scope: 'webhooks',
  readsMuch: true,
  ofWorkspace: true,
  query: Joi.object<ListQuery>({
    after: Joi.string()
      .pattern(/^\d{1,15}\.[A-Za-z0-9_-]{1,40}$/)
      .description('The `nextCursor` of the previous page.'),
    limit: Joi.number().integer().min(1).max(100).default(50).description('Events per page.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listParkedEvents',
    summary: 'List what a webhook refuses',
    description:
      'Events that were refused, or not answered, three times while other requests were taken, the oldest first. They are tried again by ' +
      'themselves, for 72 hours, and what follows for the same recipient waits behind them, until they are replayed or seven days old. 10,000 events of an ' +
      'endpoint are kept so, and 1,000 of one recipient or writer; if there are more, the oldest go, and the endpoint is told `events.gap`. For a short while after it was put aside, a request is here as a whole, until ' +
      'the events that are refused are found. A request that was not answered stays whole: it may have been taken.',
    answer: {
      status: 200,
      description: 'One page of the list.',
      body: Joi.object({
        parked: Joi.array()
          .items(
            Joi.object({
              id: Joi.string().required().description('Of the event, or of the change in `messages.updated`.'),
              type: Joi.string().required(),
              device: Joi.string()
                .allow(null)
                .required()
                .description('As in the event; `null` also once that is gone from the log.'),
              since: Joi.string().required().description('ISO 8601.'),
              attempts: Joi.number()
                .integer()
                .required()
                .description('How often it was refused alone, or not answered.'),
              lastStatus: Joi.number()
                .integer()
                .allow(null)
                .required()
                .description('Of HTTP; `null`: not tried alone yet, or not answered.'),
              nextAttemptAt: Joi.string()
                .allow(null)
                .required()
                .description('ISO 8601; `null`: it is not tried again by itself.'),
              waiting: Joi.number()
                .integer()
                .required()
                .description('Events of the same recipient that wait behind it.'),
            }),
          )
          .required(),
        nextCursor: Joi.string().allow(null).required().description('For the next page; null on the last one.'),
      }),
    },
    errors: ['not_found'],
  },

  async handle({ params, query: { after, limit }, workspace }, { store }) {
    const { id } = foundWebhook(await findWebhook(store, workspace, params.webhookId!));
    const page = await list(
      store,
      { workspace, id },
      { after: after === undefined ? after : parseParkedPlace(after), limit: limit + 1, ofEach: 1 },
    );
    const last = page[limit - 1];
    return {
      status: 200,
      body: {
        parked: await describeParked(store, workspace, page.slice(0, limit)),
        nextCursor: page.length > limit && last ? sayParkedPlace(last) : null,
      },
    };
  },
};
