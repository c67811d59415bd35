import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { Joi } from '../http/input/input-types.js';

/** A send is as far as its slowest recipient. */
export const sendStatusSchema = Joi.string().valid(...RECIPIENT_STATUSES, 'sending');

/** Recipients by status. */
export const countsSchema = Joi.object(
  Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, Joi.number().integer().required()])),
);
