import { beginTrace } from '@gateway/runtime/tracing/spans';
import { localsOf } from '../request-locals.js';
import type { Step } from './step.js';

/**
 * Of a request that makes a send, in the trace that its caller names. It begins when the token was checked: strangers write into no trace.
 * Without tracing it does nothing.
 */
export const traceRequest: Step = (req, res) => {
  const locals = localsOf(res);
  const { route = '', requestId } = locals;
  const span = beginTrace(`${req.method} ${route}`, req.get('traceparent'), {
    kind: 'server',
    fields: { 'http.request.method': req.method, 'http.route': route, 'gateway.request_id': requestId },
  });
  if (span.trace !== undefined) {
    locals.trace = span.trace;
    res.once('close', () => {
      // As in the log, 499: the caller left before there was an answer.
      span.note({ 'http.response.status_code': res.writableFinished ? res.statusCode : 499 });
      span.end();
    });
  }
};
