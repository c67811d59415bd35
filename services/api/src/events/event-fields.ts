import { EVENT_TYPES } from '@gateway/contracts/events/events';
import { Joi } from '../http/input/input-types.js';

/** An event in an answer. What `data` holds depends on the type: see the webhooks of the document. */
export const eventAnswer = Joi.object({
  id: Joi.string().required().description('The same however often it is told.'),
  type: Joi.string()
    .valid(...EVENT_TYPES)
    .required(),
  version: Joi.number().integer().valid(1).required(),
  timestamp: Joi.string().required().description('ISO 8601.'),
  device: Joi.string().allow(null).required().description('null where it is about the workspace.'),
  data: Joi.object().unknown(true).required(),
});
