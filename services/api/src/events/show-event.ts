import { ApiError } from '@gateway/runtime/errors';
import { findEvent } from '@gateway/store/events/reading/find-event';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { readInTurn } from '../http/read-in-turn.js';
import { eventAnswer } from './event-fields.js';
import { eventsGone } from './read-page.js';

type NoInput = Record<string, never>;

/** `GET /events/{id}`: one event, by the id that follows from what happened. */
export const showEvent: Endpoint<NoInput, NoInput> = {
  methods: ['get'],
  path: '/events/:id',
  bucket: 'events',
  scope: 'events',
  query: Joi.object<NoInput>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'showEvent',
    summary: 'Show an event',
    description:
      'As it was told. The id of a change, in `messages.updated`, shows that change alone, as `message.<status>` or `otp.<status>`; several ' +
      'changes together have no id that can be asked for, nor have a gap of several entries of the log and what one endpoint alone is told. It is looked for among 10,000 entries of ' +
      'the log around its time: one that lies further off is a 404, as is one of another device than that of the token.',
    answer: {
      status: 200,
      description: 'The event.',
      body: Joi.object({ event: eventAnswer.required() }),
    },
    errors: ['not_found', 'events_gone'],
  },

  async handle(call, { store }) {
    const { params, workspace, token } = call;
    const filter = token.device === undefined ? {} : { devices: [token.device] };
    const found = await readInTurn(call, () => findEvent(store, workspace, params.id ?? '', filter));
    if (!found) throw new ApiError('not_found');
    if ('oldest' in found) throw eventsGone(found, 'id');
    return { status: 200, body: { event: found } };
  },
};
