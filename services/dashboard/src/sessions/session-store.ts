import { toError } from '@gateway/runtime/errors';
import { endSession, keepSession, readSession, writeSession } from '@gateway/store/console/sessions';
import type { Store } from '@gateway/store/core/store';
import session, { type SessionData } from 'express-session';

declare module 'express-session' {
  interface SessionData {
    /** Name of the user who is signed in. */
    user: string;
    /** When that user was made. */
    userCreatedAtMs: number;
    createdAtMs: number;
    /** Signed in by a one-time link: may set a password without the former one. */
    byLink: boolean;
    /** What the browser said of itself when it signed in. */
    browser: string;
  }
}

type Done = (error?: unknown) => void;

/** Sessions of express-session in our store. */
export class SessionStore extends session.Store {
  /** @param onNotKept a session was used, and may end as if it had not been. */
  constructor(
    private readonly store: Store,
    private readonly onNotKept: (error: Error) => void,
  ) {
    super();
  }

  get(id: string, done: (error: unknown, data?: SessionData | null) => void): void {
    readSession(this.store, id).then(
      (record) => done(null, record ? (JSON.parse(record.text) as SessionData) : null),
      (thrown: unknown) => done(toError(thrown)),
    );
  }

  set(id: string, data: SessionData, done: Done = () => {}): void {
    const { user, createdAtMs } = data;
    settle(writeSession(this.store, id, { user, createdAtMs, text: JSON.stringify(data) }), done);
  }

  /**
   * Never fails: the answer is on its way by then, and express-session would have its connection ended, by which the next request may
   * be on its way, too. A session that is not kept now is kept by the next request.
   */
  override touch(id: string, data: SessionData, done: Done = () => {}): void {
    const kept = keepSession(this.store, id, data);
    settle(
      kept.catch((thrown: unknown) => this.onNotKept(toError(thrown))),
      done,
    );
  }

  destroy(id: string, done: Done = () => {}): void {
    settle(endSession(this.store, id), done);
  }
}

function settle(work: Promise<void>, done: Done): void {
  work.then(
    () => done(),
    (thrown: unknown) => done(toError(thrown)),
  );
}
