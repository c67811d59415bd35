import { LIMITS } from '@gateway/contracts/limits';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { ApiError } from '@gateway/runtime/errors';
import { addOptOuts as addToList } from '@gateway/store/workspace/opt-outs';
import { readWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';

type NoQuery = Record<string, never>;

interface AddBody {
  /** Digits, doubles included. */
  phone: string[];
}

/** 10,000 numbers with their separators. */
const MAX_BODY_BYTES = LIMITS.maxRecipients * 50;

/** `POST /opt-outs`: these people get no messages from the workspace any more. Safe to repeat. */
export const addOptOuts: Endpoint<NoQuery, AddBody> = {
  methods: ['post'],
  path: '/opt-outs',
  bucket: 'optOuts',
  scope: 'opt-outs',
  query: Joi.object<NoQuery>({}),
  body: Joi.object<AddBody>({
    phone: Joi.recipients().required().description('One phone number or a list of them.'),
  }),
  maxBodyBytes: MAX_BODY_BYTES,
  docs: {
    operationId: 'addOptOuts',
    summary: 'Add opt-outs',
    description:
      'From now on no device of the workspace sends these people anything except one-time passwords. In sends that are already ' +
      'queued they become `failed` with `recipient_opted_out`. Existing entries are not changed. The list holds 1,000,000 ' +
      'people unless the operator sets another limit; when not all fit, those that fit are added and the answer is 422. ' +
      'A STOP reply is always accepted. Safe to repeat.',
    example: { phone: ['447700900123', '447700900124'] },
    answer: {
      status: 200,
      description: 'All of them are on the list.',
      body: Joi.object({
        added: Joi.number().integer().required().description('People added to the list.'),
        unchanged: Joi.number().integer().required().description('People who were on the list before.'),
        duplicates: Joi.number().integer().required().description('Numbers in the request that repeat a person.'),
      }),
    },
    errors: ['opt_outs_full', 'not_confirmed'],
  },

  async handle({ body, workspace, token: { keyId }, logger }, { store, clock, headroom, maxOptOuts }) {
    await headroom.refuseWithoutRoom('urgent');
    const people = new Set(body.phone.map(canonicalPhoneNumber)).size;
    const { optOuts = maxOptOuts } = await readWorkspaceLimits(store, workspace);
    const max = Math.min(optOuts, maxOptOuts);
    const wanted = { numbers: body.phone, source: 'api', atMs: clock.nowMs(), max, from: { keyId } } as const;
    const { added, refused } = await addToList(store, workspace, wanted);
    logger.info('opt-outs added', { added, refused });
    if (refused > 0) throw full({ refused, max });
    return {
      status: 200,
      body: { added, unchanged: people - added, duplicates: body.phone.length - people },
      ...(added > 0 && { audit: { action: 'opt_outs.added', target: String(added) } }),
    };
  },
};

function full({ refused, max }: { refused: number; max: number }): ApiError {
  const message = `${refused} people were not added: the list holds ${max}`;
  return new ApiError('opt_outs_full', { details: [{ path: ['phone'], message }] });
}
