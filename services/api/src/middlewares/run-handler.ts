import { DEFAULT_DEVICE } from '@gateway/contracts/ids';
import type { Request, RequestHandler, Response } from 'express';
import type { ApiDeps } from '../api-deps.js';
import type { Call, Endpoint } from '../endpoint.js';
import { localsOf } from '../request-locals.js';
import { sendAnswer } from '../send-answer.js';

/** The last step: hands plain data to the endpoint and writes what it answers. */
export function runHandler<Query, Body>(endpoint: Endpoint<Query, Body>, deps: ApiDeps): RequestHandler {
  return async (req, res) => {
    const { status, body, headers = {} } = await endpoint.handle(toCall(req, res, deps), deps);
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    sendAnswer(res, status, { success: true, ...body });
  };
}

function toCall<Query, Body>(req: Request, res: Response, deps: ApiDeps): Call<Query, Body> {
  const { requestId, token, query, body, idempotencyKey } = localsOf(res);
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return {
    requestId,
    workspace: deps.workspace,
    address: { workspace: deps.workspace, device: token!.device ?? DEFAULT_DEVICE },
    token: token!,
    params: req.params as Record<string, string>,
    query: query as Query,
    body: body as Body,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    signal: AbortSignal.any([gone.signal, deps.stopping]),
    logger: deps.logger,
  };
}
