import Joi from 'joi';
import type { Addressing } from '../directory/jids.js';
import { type DraftFile, FILE_KINDS, type PhoneDraft } from '../phone-app/compose-message.js';
import type { PhoneOnly } from '../phone-app/phone-writer.js';
import { addressing, number, reader } from './admin-bodies.js';

export interface WriteBody extends PhoneDraft {
  readonly to: string;
  readonly id?: string;
  readonly addressing?: Addressing;
  readonly phoneOnly?: PhoneOnly;
}

const KINDS = [...FILE_KINDS, 'location', 'contacts', 'reaction', 'pollVote', 'edit', 'delete', 'unsupported'] as const;

const file = Joi.object<DraftFile>({
  base64: Joi.string().base64(),
  size: Joi.number().integer().min(0).max(100_000_000),
  mimeType: Joi.string(),
  filename: Joi.string(),
  seconds: Joi.number().min(0),
  voice: Joi.boolean(),
}).oxor('base64', 'size');

const about = { id: Joi.string().required(), own: Joi.boolean() };

const write = Joi.object<WriteBody>({
  to: number.required(),
  id: Joi.string(),
  addressing,
  phoneOnly: Joi.valid('fanout', 'viewOnce', 'hosted', 'unreadable'),
  text: Joi.string(),
  ...Object.fromEntries(FILE_KINDS.map((kind) => [kind, file])),
  location: Joi.object({
    latitude: Joi.number().min(-90).max(90).required(),
    longitude: Joi.number().min(-180).max(180).required(),
    name: Joi.string(),
  }),
  contacts: Joi.array()
    .items(Joi.object({ name: Joi.string().required(), phone: number.required() }))
    .min(1),
  reaction: Joi.object({ ...about, emoji: Joi.string().allow('').required() }),
  pollVote: Joi.object({ ...about, options: Joi.array().items(Joi.string()).required() }),
  edit: Joi.object({ ...about, plain: Joi.boolean() }),
  delete: Joi.object(about),
  unsupported: Joi.valid(true),
  replyTo: Joi.string(),
})
  .oxor(...KINDS)
  .or('text', ...KINDS);

/** What the owner of a phone writes. */
export const readWrite = reader<WriteBody>(write);
