import { Joi } from '../input/input-types.js';

/** For endpoints without a body: none, or the empty object that some clients send with every POST. */
export const noBody = Joi.object<Record<string, never>>({});
export const NO_BODY_BYTES = 1_024;
