import type { Readable } from 'node:stream';
import type { ApiTokenScope } from '@gateway/contracts/api-token';
import type { AuditAction } from '@gateway/contracts/console/users';
import type { ApiErrorCode } from '@gateway/contracts/errors';
import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import type { RateLimitBucket } from '@gateway/contracts/limits';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { DeviceState } from '@gateway/store/devices/device-state';
import type { ApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import type { ObjectSchema } from 'joi';
import type { ApiDeps } from '../api-deps.js';
import type { BodyAccount } from './body/body-budget.js';

export type HttpMethod = 'get' | 'post' | 'patch' | 'delete';

/** One request that passed every check, as a handler sees it: plain data, no `req` and no `res`. */
export interface Call<Query, Body> {
  requestId: string;
  workspace: Workspace;
  /** The device that the token acts on. */
  address: DeviceAddress;
  token: ApiToken;
  params: Readonly<Record<string, string>>;
  query: Query;
  body: Body;
  /** As the caller wrote it; only for endpoints that know it. */
  idempotencyKey?: string;
  /** Of a client that had a stream before. */
  lastEventId: string | undefined;
  /** The state of the device, read once per request. */
  readState(): Promise<DeviceState>;
  /** Aborted when the caller is gone or the process stops: waiting steps give up. */
  signal: AbortSignal;
  logger: Logger;
  /** `traceparent` of what is done for it, if it is traced. */
  trace: string | undefined;
  /** A send was accepted, and the log tells it: the line of the request is for `debug` then. */
  noteSend(): void;
  /** Does what takes milliseconds for a long list in turn with the lists of other tokens. Rejects when it throws. */
  inTurn<T>(step: () => T | Promise<T>): Promise<T>;
  /** To be asked after a step that takes seconds. Throws `invalid_token` when the token has been revoked or expired since, `not_allowed` when it has lost the scope. */
  requireToken(): Promise<void>;
  /**
   * Before a send is made: throws 503 where the master by which the token was read may have been replaced, at which it was revoked. Asked
   * of endpoints that make sends alone, from the start on, so that it takes no time of its own.
   */
  requireKeptToken(): Promise<void>;
  /** Memory for what the request keeps beside its body, until its answer is out. */
  account: Pick<BodyAccount, 'take' | 'onEnd'>;
}

/** `success: true` is added on the way out. */
export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers?: Record<string, string>;
  /** What it changed, for the audit log of the console. Sends are not in it: they are in the list of messages. */
  audit?: { action: AuditAction; target?: string };
}

/** The body is a file. When that fails, the answer ends before its end. */
export interface FileAnswer {
  status: number;
  headers: Record<string, string>;
  file: Readable;
  /** Its caller must be able to tell that it broke off, which is not so over HTTP/1.0. */
  mustBeWhole?: true;
}

/** One kind of success: its status, and its body without `success`. */
export interface AnswerDocs {
  status: number;
  description: string;
  body: ObjectSchema;
  /** In place of that body. */
  isFile?: true;
  /** The same, of events. */
  isStream?: true;
}

/** What the API's own documents say beside the schemas of query and body. */
export interface EndpointDocs {
  /** Names the operation in generated clients. */
  operationId: string;
  /** A few words. */
  summary: string;
  description: string;
  /** A body that may be sent as it is. */
  example?: object;
  answer: AnswerDocs;
  /** Where success has more than one shape. */
  otherAnswers?: readonly AnswerDocs[];
  /** Beside those that every endpoint has. */
  errors: readonly ApiErrorCode[];
}

/** Everything there is to know about one path: what it takes, how often, and what it does. */
export interface Endpoint<Query = unknown, Body = unknown> {
  /** More than one only where they mean the same. */
  methods: readonly HttpMethod[];
  path: string;
  bucket: RateLimitBucket;
  /** What a token must be allowed, else 403. */
  scope: ApiTokenScope;
  /** About the whole workspace: tokens of one device get a 403. */
  ofWorkspace?: true;
  query: ObjectSchema<Query>;
  body: ObjectSchema<Body>;
  /** Larger bodies are a 413, found out before they are read where the caller declares their length. */
  maxBodyBytes: number;
  /** Whether `attachment.base64` may make most of that. All else of a body is 1 MB at most. */
  hasFile?: true;
  /** Whether the device's state is asked for together with the count of the limit: one round trip less. */
  readsState?: true;
  /** Whether it reads lists: two such calls of a token run at a time in a process, and its others wait. */
  readsMuch?: true;
  /** Whether its requests are traced. */
  makesSends?: true;
  /** Whether the header `Idempotency-Key` makes repeats safe. */
  idempotent?: true;
  docs: EndpointDocs;
  handle(call: Call<Query, Body>, deps: ApiDeps): Promise<Answer | FileAnswer>;
}
