import { describePerson } from '@gateway/contracts/people/normalize-person';
import { removeOptOut as removeFromList } from '@gateway/store/workspace/opt-outs';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { hiddenIdSchema, optedOutPhoneSchema, readPerson } from './opt-out-fields.js';

type Nothing = Record<string, never>;

/** `DELETE /opt-outs/{phone}`: the person may get messages again. Safe to repeat. */
export const removeOptOut: Endpoint<Nothing, Nothing> = {
  methods: ['delete'],
  path: '/opt-outs/:phone',
  bucket: 'optOuts',
  scope: 'opt-outs',
  ofWorkspace: true,
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'removeOptOut',
    summary: 'Remove an opt-out',
    description:
      'The person gets messages again, from the next one on. Only for people who have asked for it; people who answered STOP ' +
      'can also write START themselves. Safe to repeat.',
    answer: {
      status: 200,
      description: 'The person is not on the list.',
      body: Joi.object({
        phone: optedOutPhoneSchema.required(),
        hiddenId: hiddenIdSchema,
        removed: Joi.boolean().required().description('Whether the person was on the list before.'),
      }),
    },
    // For what is no percent-encoding.
    errors: ['not_found', 'not_confirmed'],
  },

  async handle({ params, workspace, token: { keyId }, logger }, { store }) {
    const person = readPerson(params);
    const removed = await removeFromList(store, workspace, person, 'api', keyId);
    logger.info('opt-out removed', { removed });
    return {
      status: 200,
      body: { ...describePerson(person), removed },
      ...(removed && { audit: { action: 'opt_out.lifted' } }),
    };
  },
};
