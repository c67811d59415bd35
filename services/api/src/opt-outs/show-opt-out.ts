import { describePerson } from '@gateway/contracts/people/normalize-person';
import { describeOptOut } from '@gateway/store/workspace/describe-opt-out';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { hiddenIdSchema, optedOutPhoneSchema, optOutSourceSchema, readPerson } from './opt-out-fields.js';

type Nothing = Record<string, never>;

/** `GET /opt-outs/{phone}`: whether a person has opted out. A number that is not on the list is an answer, not an error. */
export const showOptOut: Endpoint<Nothing, Nothing> = {
  methods: ['get'],
  path: '/opt-outs/:phone',
  bucket: 'optOuts',
  scope: 'opt-outs',
  ofWorkspace: true,
  query: Joi.object<Nothing>({}),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'showOptOut',
    summary: 'Show whether a person has opted out',
    description: 'Looks up one number in the list of opt-outs. All ways to write the number are equal.',
    answer: {
      status: 200,
      description: 'Whether the person is on the list.',
      body: Joi.object({
        phone: optedOutPhoneSchema.required(),
        hiddenId: hiddenIdSchema,
        optedOut: Joi.boolean().required(),
        source: optOutSourceSchema,
        at: Joi.string().description('Since when; ISO 8601.'),
      }),
    },
    // For what is no percent-encoding.
    errors: ['not_found'],
  },

  async handle({ params, workspace }, { store }) {
    const person = readPerson(params);
    const found = await findOptOut(store, workspace, person);
    return {
      status: 200,
      body: { ...describePerson(person), optedOut: found !== undefined, ...(found && describeOptOut(found)) },
    };
  },
};
