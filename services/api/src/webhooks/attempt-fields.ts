import { Joi } from '../http/input/input-types.js';

export const attemptAnswer = {
  id: Joi.string().required().description('`webhook-id` of the request: the same for each attempt of it.'),
  at: Joi.string().required().description('ISO 8601.'),
  tookMs: Joi.number().integer().required(),
  delivered: Joi.boolean().required().description('Whether it was answered with a 2xx.'),
  status: Joi.number().integer().allow(null).required().description('Of HTTP; `null` when there was no answer.'),
  error: Joi.string()
    .allow(null)
    .required()
    .description(
      'Why there was none: `name` (it leads nowhere, or where it may not), `connection`, `too_slow`, `surroundings` (an answer without ' +
        'end), or `not_allowed`: the address, port or scheme of its URL.',
    ),
  answer: Joi.string().allow('').required().description('The first 256 bytes of the answer.'),
};
