import { MAX_EVENT_ID_CHARACTERS } from '@gateway/contracts/events/event-id';
import { ApiError } from '@gateway/runtime/errors';
import { replayWebhook as replay } from '@gateway/store/webhooks/delivering/replays';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { readInTurn } from '../http/read-in-turn.js';
import { MAX_WEBHOOK_BODY_BYTES } from './create-webhook.js';
import { foundWebhook } from './webhook-fields.js';

/** Times in Unix ms. */
type ReplayBody = { ids: string[] } | { after: number; before?: number };

/** `POST /webhooks/{webhookId}/replay`: tells events once more. */
export const replayWebhook: Endpoint<Record<string, never>, ReplayBody> = {
  methods: ['post'],
  path: '/webhooks/:webhookId/replay',
  bucket: 'webhooks',
  scope: 'webhooks',
  ofWorkspace: true,
  query: Joi.object<Record<string, never>>({}),
  body: Joi.object({
    ids: Joi.array()
      .items(Joi.string().min(1).max(MAX_EVENT_ID_CHARACTERS))
      .min(1)
      .max(100)
      .description(
        'Of events in `/parked`; of requests in `/deliveries`, but those of what had been put aside, which come as they were unless the endpoint ' +
          'has other types by now; of any event or change that is kept, as `GET /events/{id}` finds it, if this endpoint asks for it: a change then comes alone, in a `messages.updated` of its own where only that type tells of it.',
      ),
    after: Joi.dateTime().description(
      'RFC 3339, in the past: all events with this `timestamp` or a later one; as far as the last 7 days go.',
    ),
    before: Joi.dateTime().description(
      'RFC 3339, later than `after`: until before this `timestamp`. Without it: until now.',
    ),
  })
    .xor('ids', 'after')
    .with('before', 'after'),
  maxBodyBytes: MAX_WEBHOOK_BODY_BYTES,
  docs: {
    operationId: 'replayWebhook',
    summary: 'Tell a webhook once more',
    description:
      "Posts events again: those with these ids, or all of the endpoint's types that happened from one time until another, however late they were told. It does not delay what " +
      'happens now, and waits while the endpoint is paused, disabled or unverified. Where a time begins in the middle of what was never told, a later status of a recipient may come before an earlier one. What is told again has the ids that it had; a request that has the same events ' +
      'has the same `webhook-id`, too. Ids are looked for among 500 entries ' +
      'of the log around the time of each, and 10,000 more for all of a request. Up to a hundred replays of an endpoint wait for each other; one ' +
      'of which the endpoint takes nothing for three days is given up. ' +
      'Safe to repeat while it waits, with ids or with `before`: without `before` each call is for another time.',
    example: { after: '2026-11-21T19:00:00Z', before: '2026-11-21T20:00:00Z' },
    answer: {
      status: 202,
      description: 'It will be told again.',
      body: Joi.object({
        webhookId: Joi.string().required(),
        unknown: Joi.array()
          .items(Joi.string())
          .required()
          .description(
            'Ids that are not known, known no more, or of what this endpoint does not ask for, or not any more.',
          ),
      }),
    },
    errors: ['not_found', 'replays_full', 'not_confirmed'],
  },

  async handle(call, { store, clock, headroom }) {
    const { params, body, workspace, logger } = call;
    await headroom.refuseWithoutRoom('urgent');
    const { id } = foundWebhook(await readWebhook(store, workspace, params.webhookId!));
    const nowMs = clock.nowMs();
    const wanted = 'ids' in body ? body : toTimes(body, nowMs);
    const outcome = await readInTurn(call, () => replay(store, { workspace, id }, wanted, nowMs));
    if (outcome === 'gone') throw new ApiError('not_found');
    if (outcome === 'full') throw new ApiError('replays_full');
    if (outcome === 'empty') throw new ApiError('invalid_request', { details: [NOTHING_BETWEEN] });
    logger.info('webhook replay asked for', { webhookId: id });
    const audit = { action: 'webhook.replayed', target: id } as const;
    return { status: 202, body: { webhookId: id, unknown: outcome.unknown }, audit };
  },
};

const NOTHING_BETWEEN = { path: ['after'], message: 'must be earlier than `before`, and than now' };

/** What has not happened yet is told anyway. */
function toTimes({ after, before }: { after: number; before?: number }, nowMs: number) {
  return { afterMs: after, beforeMs: Math.min(before ?? nowMs, nowMs) };
}
