import type { ErrorDetail } from '@gateway/contracts/errors';
import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import type { RequestHandler } from 'express';
import { checkInput } from '../check-input.js';
import type { Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';

/** Check 5: query and body against the endpoint's schemas; all problems of both at once. */
export function validateInput<Query, Body>(endpoint: Endpoint<Query, Body>): RequestHandler {
  return (req, res, next) => {
    const { token: _checkedBefore, ...given } = req.query;
    const query = checkInput(endpoint.query, given);
    const body = checkInput(endpoint.body, req.body ?? (req.body === null ? null : {}));
    const details: ErrorDetail[] = [...query.details, ...body.details];
    if (details.length > 0) {
      throw new ApiError('invalid_request', { details: details.slice(0, LIMITS.maxValidationDetails) });
    }
    Object.assign(localsOf(res), { query: query.value, body: body.value });
    next();
  };
}
