import { fromBase32, toBase32 } from '@gateway/contracts/base32';
import { digitsOfHiddenId } from '@gateway/contracts/people/opt-outs';
import { describeOptOut } from '@gateway/store/workspace/describe-opt-out';
import { countOptOuts, placeOf, listOptOuts as readPage } from '@gateway/store/workspace/opt-outs';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { hiddenIdSchema, optedOutPhoneSchema, optOutSourceSchema } from './opt-out-fields.js';

interface PageQuery {
  cursor?: string;
  limit: number;
}

/** `GET /opt-outs`: the list of opt-outs, page by page. */
export const listOptOuts: Endpoint<PageQuery, Record<string, never>> = {
  methods: ['get'],
  path: '/opt-outs',
  bucket: 'optOuts',
  scope: 'opt-outs',
  readsMuch: true,
  ofWorkspace: true,
  query: Joi.object<PageQuery>({
    cursor: Joi.string()
      .pattern(/^[0-9a-hjkmnp-tv-z]{13}$/)
      .description('The `nextCursor` of the previous page.'),
    limit: Joi.number().integer().min(1).max(1_000).default(100).description('People per page.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'listOptOuts',
    summary: 'List opt-outs',
    description:
      'All people who answered STOP to any device of the workspace, or were added to the list, in no particular order. A ' +
      'person who stays on the list while its pages are read is on exactly one page.',
    answer: {
      status: 200,
      description: 'One page of the list.',
      body: Joi.object({
        optOuts: Joi.array()
          .items(
            Joi.object({
              phone: optedOutPhoneSchema.required(),
              hiddenId: hiddenIdSchema,
              source: optOutSourceSchema.required(),
              at: Joi.string().required().description('ISO 8601.'),
            }),
          )
          .required(),
        total: Joi.number().integer().required().description('People on the list.'),
        nextCursor: Joi.string().allow(null).required().description('For the next page; null on the last one.'),
      }),
    },
    errors: [],
  },

  async handle({ query: { cursor, limit }, workspace }, { store }) {
    const after = cursor === undefined ? {} : { after: fromCursor(cursor) };
    const [page, total] = await Promise.all([
      readPage(store, workspace, { ...after, limit: limit + 1 }),
      countOptOuts(store, workspace),
    ]);
    const shown = page.slice(0, limit);
    const nextCursor = page.length > limit ? toCursor(placeOf(shown.at(-1)!)) : null;
    return { status: 200, body: { optOuts: shown.map(describeOptOut), total, nextCursor } };
  },
};

/** A number that does not look like one: addresses of requests end up in logs of others. */
function toCursor(person: string): string {
  const bytes = Buffer.alloc(8);
  const hidden = digitsOfHiddenId(person);
  bytes.writeBigUInt64BE(hidden === undefined ? BigInt(person) : BigInt(hidden) | HIDDEN);
  return toBase32(bytes);
}

function fromCursor(cursor: string): string {
  const place = Buffer.from(fromBase32(cursor)).readBigUInt64BE();
  return place & HIDDEN ? `${(place ^ HIDDEN) % MOST_HIDDEN}@lid` : place.toString();
}

/** Set in the cursors of people without a number. */
const HIDDEN = 1n << 63n;
/** They have 18 digits at most: a cursor that is made up is one of some place, too. */
const MOST_HIDDEN = 10n ** 18n;
