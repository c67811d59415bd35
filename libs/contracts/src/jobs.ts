import Joi from 'joi';
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

const address = {
  workspace: Joi.string().min(1).max(40).required(),
  device: Joi.string()
    .pattern(/^[a-z0-9-]{1,40}$/)
    .required(),
};

const send = Joi.object<SendJob>({
  v: Joi.number().valid(1).required(),
  ...address,
  messageId: Joi.string()
    .pattern(/^msg_[0-9a-z]{24}$/)
    .required(),
  priority: Joi.string()
    .valid(...Object.keys(PRIORITIES))
    .required(),
  requestId: Joi.string().min(1).max(100).required(),
});

export const JOB_SCHEMAS: { [Name in JobName]: Joi.ObjectSchema<JobPayloads[Name]> } = {
  send,
  sends: Joi.object<SendsJob>({
    v: Joi.number().valid(1).required(),
    sends: Joi.array().items(send).min(1).max(MAX_SENDS_PER_JOB).required(),
  }),
};
