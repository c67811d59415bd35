import type { SendKind } from './content/message-content.js';
import type { DeviceAddress, MessageId } from './ids.js';

/** The kinds of work that the queue of a process carries. A payload is a wake-up: the record of the send is the truth. */
export interface JobPayloads {
  send: SendJob;
  sends: SendsJob;
}
export type JobName = keyof JobPayloads;

export interface SendJob extends DeviceAddress {
  v: 1;
  messageId: MessageId;
  priority: Priority;
  /** Of the HTTP request that made the send: rides along to the ack. */
  requestId: string;
}

/** Sends of one process's devices that were accepted in the same moment. */
export interface SendsJob {
  v: 1;
  sends: SendJob[];
}
export const MAX_SENDS_PER_JOB = 100;

/** BullMQ runs priority 0 before everything else, so ours start at 1. */
export const PRIORITIES = { otp: 1, bulk: 10 } as const;
/** Priority of a send, independent of its content. */
export type Priority = keyof typeof PRIORITIES;

/** Of a send that is accepted: what it asks for, else that of its kind. From then on the send says it itself. */
export function priorityOf({ kind, priority }: { kind: SendKind; priority?: Priority }): Priority {
  return priority ?? (kind === 'otp' ? 'otp' : 'bulk');
}

type Check = (value: unknown) => boolean;
type Checks<Payload> = Record<keyof Payload, Check>;

const isText =
  (most: number): Check =>
  (value) =>
    typeof value === 'string' && value !== '' && value.length <= most;
const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);

const SEND: Checks<SendJob> = {
  v: (value) => value === 1,
  workspace: isText(40),
  device: matches(/^[a-z0-9-]{1,40}$/),
  messageId: matches(/^msg_[0-9a-z]{24}$/),
  priority: (value) => typeof value === 'string' && Object.hasOwn(PRIORITIES, value),
  requestId: isText(100),
};
const SENDS: Checks<SendsJob> = {
  v: (value) => value === 1,
  sends: (value) => Array.isArray(value) && value.length >= 1 && value.length <= MAX_SENDS_PER_JOB,
};
const CHECKS: { [Name in JobName]: Checks<JobPayloads[Name]> } = { send: SEND, sends: SENDS };

/** What is wrong with the payload of a job, such as `v is required`. Not by Joi, which took the owner 40 us for each message. */
export function findJobProblem(name: JobName, payload: unknown): string | undefined {
  const problem = findProblem(CHECKS[name], payload);
  if (problem || name === 'send') return problem;
  for (const send of (payload as SendsJob).sends) {
    const itsProblem = findProblem(SEND, send);
    if (itsProblem) return `sends has one of which ${itsProblem}`;
  }
  return undefined;
}

function findProblem(checks: Record<string, Check>, payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null) return 'payload is no object';
  const fields = payload as Record<string, unknown>;
  for (const field in checks) {
    if (!checks[field]!(fields[field]))
      return fields[field] === undefined ? `${field} is required` : `${field} is invalid`;
  }
  const unknown = Object.keys(fields).find((field) => !Object.hasOwn(checks, field));
  return unknown === undefined ? undefined : `${unknown} is not allowed`;
}
