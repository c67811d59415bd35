import { mayAct } from '@gateway/contracts/console/users';
import { recordAudit } from '@gateway/store/console/audit';
import type { Request, RequestHandler, Response } from 'express';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ConsoleError } from '../console-error.js';
import { localsOf } from '../locals.js';
import type { Answer, Operation } from '../operation.js';
import type { ReadTurns } from '../read-turns.js';

/** Checks what is asked for, does it, and writes it into the audit log before the answer is out. */
export function runOperation(operation: Operation, deps: DashboardDeps, turns: ReadTurns): RequestHandler {
  const isRead = operation.isRead ?? operation.method === 'get';
  return async (req, res) => {
    const body = checkBody(operation, req);
    const { requestId, user } = localsOf(res);
    const signal = signalOf(res);
    const call = {
      ...{ req, body, requestId, visitor: user, params: req.params as Record<string, string>, signal },
      get user() {
        if (!user) throw new ConsoleError('not_signed_in');
        return user;
      },
    };
    const handle = () => operation.handle(call, deps);
    const answer = await (user && isRead ? turns.take(user.name, signal, handle) : handle());
    await writeAudit(answer, res, deps);
    if (answer.file) return void sendFile(res, answer.file);
    res.status(answer.status ?? 200).json({ success: true, ...answer.body });
  };
}

function sendFile(res: Response, { type, bytes }: NonNullable<Answer['file']>): void {
  res.setHeader('Cache-Control', 'private, max-age=86400');
  res.type(type).send(bytes);
}

/** Checks who asks. */
export function refuseOthers({ for: needed, path }: Operation): RequestHandler {
  return (_req, res, next) => {
    localsOf(res).route = path;
    requireRole(needed, res);
    next();
  };
}

function requireRole(needed: Operation['for'], res: Response): void {
  const { user } = localsOf(res);
  if (needed === 'anyone' || needed === 'unknown') return;
  if (!user) throw new ConsoleError('not_signed_in');
  if (!mayAct(user.role, needed)) throw new ConsoleError('not_allowed');
}

function checkBody({ body: schema, method }: Operation, req: Request): unknown {
  if (!schema || method === 'get') return {};
  const { value, error } = schema.validate(req.body ?? {}, { abortEarly: false });
  if (!error) return value;
  // What was typed stays out of the answer, and so out of every log.
  const details = error.details.map(({ path, type }) => ({ path, message: type }));
  throw new ConsoleError('invalid_request', { details });
}

function signalOf(res: Response): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  return gone.signal;
}

async function writeAudit({ audit }: Answer, res: Response, { store, workspace }: DashboardDeps): Promise<void> {
  const { requestId, user } = localsOf(res);
  const who = audit?.user ?? user?.name;
  if (audit && who) await recordAudit(store, { ...audit, user: who, workspace, requestId });
}
