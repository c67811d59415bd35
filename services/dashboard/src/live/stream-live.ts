import { mayAct } from '@gateway/contracts/console/users';
import { readSession } from '@gateway/store/console/sessions';
import { findUser, type User } from '@gateway/store/console/users';
import type { Request, RequestHandler, Response } from 'express';
import type { DashboardDeps } from '../dashboard-deps.js';
import { ConsoleError } from '../http/console-error.js';
import { localsOf } from '../http/locals.js';
import { toFrame } from './told.js';
import type { Topic } from './topic.js';

const MAX_TOPICS = 10;
const BEAT = toFrame('beat', '{}');
/** What a tab that takes nothing may have waiting: it gets all of it when it comes again. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * `GET /console/api/live?topics=devices,device.default`: server-sent events,
 * each named after its topic; those of a list that is known by now after `<topic>.changes`. It
 * ends with the session of its user, and when their role changes: the page asks again, and learns why.
 */
export function streamLive(deps: DashboardDeps): RequestHandler {
  return (req, res, next) => {
    const { user } = localsOf(res);
    if (!user) return next(new ConsoleError('not_signed_in'));
    // A browser asks again at once, on a connection that is still there.
    if (deps.live.isClosed) return next(new ConsoleError('unavailable'));
    const names = [...new Set(String(req.query.topics ?? '').split(','))];
    const topics = names.slice(0, MAX_TOPICS).map((name) => deps.live.topicOf(name));
    if (names.length > MAX_TOPICS || !topics.every((topic) => topic !== undefined)) {
      return next(new ConsoleError('not_found'));
    }
    if (!topics.every(({ role }: Topic) => mayAct(user.role, role))) return next(new ConsoleError('not_allowed'));
    deps.live.requirePlace({ sessionId: req.sessionID, user: user.name, names });
    open(req, res, names, deps);
  };
}

function open(req: Request, res: Response, names: readonly string[], deps: DashboardDeps): void {
  const user = localsOf(res).user!;
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
  res.write('retry: 1000\n\n');
  const end = () => res.end();
  const tell = (frame: Buffer) => {
    // Its end may wait for a caller who does not read, or behind another answer of its connection; a write after it is an uncaught error.
    if (res.writableEnded) return;
    if (res.writableLength > MAX_WAITING_BYTES) return end();
    res.write(frame);
  };
  const leave = deps.live.follow({ sessionId: req.sessionID, user: user.name, names, end }, { role: user.role, tell });
  const calm = deps.heartbeat.add({
    sessionId: req.sessionID,
    staysIn: () => staysIn(req.sessionID, user, deps),
    beat: () => tell(BEAT),
    end,
  });
  res.once('close', () => {
    calm();
    leave();
  });
}

async function staysIn(
  sessionId: string,
  { name, role, createdAtMs }: User,
  { store, standing }: DashboardDeps,
): Promise<boolean> {
  // One that was replaced does not know who has left: the page asks again, and is told.
  const isInDoubt = await standing?.assert().then(
    () => false,
    () => true,
  );
  if (isInDoubt) return false;
  const [session, user] = await Promise.all([readSession(store, sessionId), findUser(store, name)]);
  return session !== undefined && user?.role === role && user.createdAtMs === createdAtMs;
}
