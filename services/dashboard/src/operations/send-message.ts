import { isDeviceId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { estimateFinishMs } from '@gateway/store/sends/estimate-finish';
import { findOptedOut } from '@gateway/store/workspace/opt-outs';
import Joi from 'joi';
import { ConsoleError } from '../http/console-error.js';
import { operation } from '../http/operation.js';

/** A full list of numbers, each as long as a number can be. */
const MAX_LIST_BYTES = 512 * 1024;
/** The largest file as base64, and a list. */
const MAX_SEND_BYTES = Math.ceil(LIMITS.maxAttachmentBytes / 3) * 4 + 1024 * 1024;

interface PreviewBody {
  device: string;
  /** Digits, each person once. */
  to: string[];
  /** Messages for each. */
  parts: number;
}

/** What would become of a list, before it is sent: who has opted out, and when it would be through. */
export const previewMessage = operation<PreviewBody>({
  method: 'post',
  path: '/messages/preview',
  for: 'operator',
  maxBodyBytes: MAX_LIST_BYTES,
  body: Joi.object({
    device: Joi.string().required(),
    to: Joi.array()
      .items(Joi.string().pattern(/^\d{7,15}$/))
      .max(LIMITS.maxRecipients)
      .required(),
    parts: Joi.number().integer().min(1).max(2).default(1),
  }),
  async handle({ body: { device, to, parts } }, { store, workspace, clock, defaultPace }) {
    if (!isDeviceId(device)) throw new ConsoleError('not_found');
    const [optedOut, state] = await Promise.all([
      findOptedOut(store, workspace, to),
      readDeviceState(store, { workspace, device }),
    ]);
    const finishAtMs = estimateFinishMs(state, to.length * parts, { defaultPace, clock });
    const expiresAtMs = clock.nowMs() + LIMITS.sendExpirySeconds * 1000;
    return { body: { preview: { optedOut: [...optedOut], finishAtMs, expiresAtMs } } };
  },
});

interface SendBody {
  device: string;
  /** One for each form that was opened: a form that is sent twice sends once. */
  key: string;
  /** As the API takes it. */
  message: object;
}

/** Sends through the API, which checks all of it. */
export const sendMessage = operation<SendBody>({
  method: 'post',
  path: '/messages',
  for: 'operator',
  maxBodyBytes: MAX_SEND_BYTES,
  body: Joi.object({
    device: Joi.string().required(),
    key: Joi.string().max(100).required(),
    message: Joi.object().required(),
  }),
  async handle({ body: { device, key, message }, user, requestId, signal }, { api }) {
    if (!isDeviceId(device)) throw new ConsoleError('not_found');
    const { messageId } = await api.call({
      ...{ user: user.name, device, requestId, signal },
      ...{ method: 'POST', path: '/send', json: message, headers: { 'idempotency-key': key } },
    });
    return { status: 202, body: { messageId }, audit: { action: 'message.sent', target: String(messageId) } };
  },
});
