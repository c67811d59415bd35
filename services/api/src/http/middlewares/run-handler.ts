import { recordAudit } from '@gateway/store/console/audit';
import { readDefaultDevice } from '@gateway/store/devices/devices';
import type { Request, Response } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import type { DeviceStates } from '../../devices/device-states.js';
import { sendFile } from '../../media/send-file.js';
import { sendAnswer } from '../../sends/send-answer.js';
import type { Answer, Call, Endpoint } from '../endpoint.js';
import { readInTurn } from '../read-in-turn.js';
import { accountOf, inTurn, isOver, localsOf } from '../request-locals.js';
import type { Step } from './step.js';

/** The last step: hands plain data to the endpoint and writes what it answers. */
export function runHandler<Query, Body>(endpoint: Endpoint<Query, Body>, deps: ApiDeps, states: DeviceStates): Step {
  return async (req, res) => {
    try {
      const call = await toCall<Query, Body>(req, res, deps, states);
      const handle = () => endpoint.handle(call, deps);
      const given = await (endpoint.readsMuch ? readInTurn(call, handle) : handle());
      if ('file' in given) return await sendFile(res, given, call.logger);
      const { body, audit, ...answer } = given;
      if (audit) await writeAudit(audit, res, deps);
      sendAnswer(res, { ...answer, body: { success: true, ...body } });
    } finally {
      localsOf(res).endSteps?.();
    }
  };
}

/** The change is made: it is not undone because the log of it cannot be written. */
async function writeAudit(audit: NonNullable<Answer['audit']>, res: Response, deps: ApiDeps): Promise<void> {
  const { requestId, token } = localsOf(res);
  const { name, keyId, isPassing } = token!;
  if (isPassing) return;
  await recordAudit(deps.store, { ...audit, user: `${name} (${keyId})`, requestId }).catch((thrown: unknown) =>
    deps.logger.warn('the audit log could not be written', { requestId, ...audit, error: thrown }),
  );
}

async function toCall<Query, Body>(
  req: Request,
  res: Response,
  deps: ApiDeps,
  states: DeviceStates,
): Promise<Call<Query, Body>> {
  const locals = localsOf(res);
  const { requestId, query, body, idempotencyKey } = locals;
  const token = locals.token!;
  const { workspace } = token;
  const address = { workspace, device: token.device ?? (await readDefaultDevice(deps.store, workspace)) };
  return {
    requestId,
    workspace,
    address,
    token,
    params: req.params as Record<string, string>,
    query: query as Query,
    body: body as Body,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    lastEventId: req.get('last-event-id'),
    readState() {
      locals.state ??= states.read(address);
      return locals.state;
    },
    // Made for the few that ask: most requests neither wait nor log.
    get signal() {
      locals.signal ??= AbortSignal.any([whenGone(res), deps.stopping]);
      return locals.signal;
    },
    get logger() {
      return deps.logger.child({ requestId });
    },
    trace: locals.trace,
    noteSend() {
      locals.madeSend = true;
    },
    inTurn: (step) => inTurn(res, step),
    get account() {
      return accountOf(res, deps.bodies);
    },
  };
}

function whenGone(res: Response): AbortSignal {
  const gone = new AbortController();
  if (isOver(res)) gone.abort();
  else res.once('close', () => gone.abort());
  return gone.signal;
}
