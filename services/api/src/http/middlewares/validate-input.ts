import type { ErrorDetail } from '@gateway/contracts/errors';
import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import type { Request, Response } from 'express';
import type { Endpoint } from '../endpoint.js';
import { inputCheck } from '../input/check-input.js';
import { inTurn, localsOf } from '../request-locals.js';
import type { Step } from './step.js';

/** Check 5: query, body and the header of repeats; all problems at once. */
export function validateInput<Query, Body>(endpoint: Endpoint<Query, Body>): Step {
  const checkQuery = inputCheck(endpoint.query);
  const checkBody = inputCheck(endpoint.body);
  const check = (req: Request, res: Response) => {
    const { token: _checkedBefore, ...given } = req.url.includes('?') ? req.query : {};
    const query = checkQuery(given);
    const body = checkBody(req.body ?? (req.body === null ? null : {}));
    const idempotencyKey = endpoint.idempotent && req.get('idempotency-key');
    const details: ErrorDetail[] = [...query.details, ...body.details, ...checkKey(idempotencyKey)];
    if (details.length > 0) {
      throw new ApiError('invalid_request', { details: details.slice(0, LIMITS.maxValidationDetails) });
    }
    const locals = localsOf(res);
    locals.query = query.value;
    locals.body = body.value;
    locals.idempotencyKey = idempotencyKey;
  };
  return (req, res) => (localsOf(res).isLarge ? inTurn(res, () => check(req, res)) : check(req, res));
}

const KEY = new RegExp(`^[\\x21-\\x7e]{1,${LIMITS.maxIdempotencyKeyCharacters}}$`);

function checkKey(key: string | undefined): ErrorDetail[] {
  if (key === undefined || KEY.test(key)) return [];
  const message = `must be 1 to ${LIMITS.maxIdempotencyKeyCharacters} printable characters without spaces`;
  return [{ path: ['Idempotency-Key'], message }];
}
