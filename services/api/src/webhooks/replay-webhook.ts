import { MAX_EVENT_ID_CHARACTERS } from '@gateway/contracts/events/event-id';
import { ApiError } from '@gateway/runtime/errors';
import { replayWebhook as replay } from '@gateway/store/webhooks/delivering/replays';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { MAX_WEBHOOK_BODY_BYTES } from './create-webhook.js';
import { foundWebhook } from './webhook-fields.js';

type ReplayBody = { ids: string[] } | { after: string; before?: string };

const time = Joi.string().isoDate().custom(checkTime);

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
      .description('Of events in `/parked`, or of requests in `/deliveries`: these come as they were.'),
    after: time.description('ISO 8601: all events from then on; as far as the last 7 days go.'),
    before: time.description('ISO 8601. Without it: until now.'),
  })
    .xor('ids', 'after')
    .with('before', 'after'),
  maxBodyBytes: MAX_WEBHOOK_BODY_BYTES,
  docs: {
    operationId: 'replayWebhook',
    summary: 'Tell a webhook once more',
    description:
      "Posts events again: those with these ids, or all of the endpoint's types from one time until another. It does not delay what " +
      'happens now, and waits while the endpoint is paused, disabled or unverified. What is told again has the ids that it had; a request that has the same events ' +
      'has the same `webhook-id`, too. Up to a hundred replays of an endpoint wait for each other. Safe to repeat.',
    example: { after: '2026-11-21T19:00:00Z', before: '2026-11-21T20:00:00Z' },
    answer: {
      status: 202,
      description: 'It will be told again.',
      body: Joi.object({
        webhookId: Joi.string().required(),
        unknown: Joi.array().items(Joi.string()).required().description('Ids that are not known, or known no more.'),
      }),
    },
    errors: ['not_found', 'replays_full', 'not_confirmed'],
  },

  async handle({ params, body, workspace, logger }, { store, clock, headroom }) {
    await headroom.refuseWithoutRoom('urgent');
    const { id } = foundWebhook(await readWebhook(store, workspace, params.webhookId!));
    const nowMs = clock.nowMs();
    const wanted = 'ids' in body ? body : toTimes(body, nowMs);
    const outcome = await replay(store, { workspace, id }, wanted, nowMs);
    if (outcome === 'gone') throw new ApiError('not_found');
    if (outcome === 'full') throw new ApiError('replays_full');
    logger.info('webhook replay asked for', { webhookId: id });
    const audit = { action: 'webhook.replayed', target: id } as const;
    return { status: 202, body: { webhookId: id, unknown: outcome.unknown }, audit };
  },
};

/** What has not happened yet is told anyway. */
function toTimes({ after, before }: { after: string; before?: string }, nowMs: number) {
  return { afterMs: Date.parse(after), beforeMs: Math.min(before === undefined ? nowMs : Date.parse(before), nowMs) };
}

function checkTime(given: string): string {
  if (!(Date.parse(given) > 0)) throw new Error('must be a time of ISO 8601');
  return given;
}
