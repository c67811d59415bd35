import type { AuditAction, UserRole } from '@gateway/contracts/console/users';
import type { User } from '@gateway/store/console/users';
import type { Request } from 'express';
import type Joi from 'joi';
import type { DashboardDeps } from '../dashboard-deps.js';
import { ConsoleError } from './console-error.js';

/** One thing that the page can ask for. */
export interface Operation<Body = unknown> {
  method: 'get' | 'post';
  /** Below `/console/api`, with Express' parameters. */
  path: string;
  /** The least role that may. `anyone` need not be signed in, `unknown` is one who is about to. */
  for: UserRole | 'anyone' | 'unknown';
  /** What it takes as JSON; nothing without it. */
  body?: Joi.ObjectSchema<Body>;
  /** Whether it looks something up, as each `get` does: a few of a user at a time. */
  isRead?: true;
  /** Larger than what all others take; read only from those who may ask for it. */
  maxBodyBytes?: number;
  handle(call: Call<Body>, deps: DashboardDeps): Promise<Answer>;
}

export interface Call<Body> {
  req: Request;
  /** Of the path. */
  params: Record<string, string>;
  body: Body;
  /** Who asks. Throws where no one is signed in. */
  user: User;
  /** The same, where that may be no one. */
  visitor: User | undefined;
  requestId: string;
  /** Aborted when the caller is gone. */
  signal: AbortSignal;
}

export interface Answer {
  /** 200 unless told. */
  status?: number;
  body: object;
  /** In place of the body: browsers may keep it for a day. */
  file?: { type: string; bytes: Buffer };
  /** What was done, for the audit log. `user`: by whom, if they were not signed in before. */
  audit?: { action: AuditAction; target?: string; user?: string };
}

/** So that a table can hold operations with different bodies. */
export function operation<Body>(definition: Operation<Body>): Operation {
  return definition as Operation;
}

/** What a request asks for behind its `?`. Throws `invalid_request`. */
export function checkQuery<Query>(schema: Joi.ObjectSchema<Query>, { query }: Request): Query {
  const { value, error } = schema.validate(query);
  if (error) throw new ConsoleError('invalid_request');
  return value;
}
