import { maskRequestId, takeOrMakeRequestId } from '@gateway/contracts/ids';
import type { RequestHandler } from 'express';
import { localsOf } from '../request-locals.js';

/** Check 1: every request has an id, from the first log line to the ack of the network. */
export const takeRequestId: RequestHandler = (req, res, next) => {
  const received = req.get('x-request-id');
  const requestId = takeOrMakeRequestId(received);
  localsOf(res).requestId = requestId === received ? maskRequestId(requestId) : requestId;
  res.setHeader('X-Request-Id', requestId);
  next();
};
