import type { SendTag } from '../ids.js';
import { type MediaContent, type MediaUpload, mediaContentSchema } from './media-content.js';
import { isTextContent, type TextContent } from './text-content.js';

/**
 * The kinds of content. A new one is a file beside this one, a line here, in `IS_WHOLE` and in `KIND_CODES`, and an entry in each
 * table that does not compile without it: `CONTENT_INPUTS` (services/api, how it is requested), `WIRE` (libs/messenger, how it goes
 * out), and its name in the texts of the console. The simulator, which shares nothing with the gateway, says of what it does not
 * know how it is called on the wire; `phones/read-content.ts` can tell more.
 */
export interface Contents {
  text: TextContent;
  media: MediaContent;
}
export type ContentKind = keyof Contents;

/** Content of a send, the same for all its recipients; stored once, encrypted. */
export type MessageContent = Contents[ContentKind];

/** Whether something stored has all that its kind needs, whatever a later version adds. */
const IS_WHOLE: { [Kind in ContentKind]: (stored: object) => boolean } = {
  text: isTextContent,
  media: (stored) => !mediaContentSchema.validate(stored, { allowUnknown: true, convert: false }).error,
};

/** Whether something stored is content that this version knows. */
export function isMessageContent(stored: unknown): stored is MessageContent {
  const kind = (stored as { kind?: unknown } | null | undefined)?.kind;
  if (typeof kind !== 'string' || !Object.hasOwn(IS_WHOLE, kind)) return false;
  return IS_WHOLE[kind as ContentKind](stored as object);
}

/** A message that is ready to be sent: files are already uploaded. */
export type ReadyContent = { [Kind in ContentKind]: Ready<Kind> }[ContentKind] & { quoted?: Quoted };

/** The content of one kind, without a quote. */
export type Ready<Kind extends ContentKind> = Contents[Kind] &
  (Kind extends 'media' ? { upload: MediaUpload } : unknown);

/** A message that another one answers, as the phone of its recipient shows it. */
export interface Quoted {
  platformId: string;
  /** Jid of its writer; absent for our own messages. */
  from?: string;
  /** Absent when it is gone: phones then show their own copy. */
  content?: ReadyContent;
}

/** The quoted message of a send, as stored in its record. */
export type Reply =
  /** A message of our own; without a `recipient` each quotes the one that it got itself. */
  | { kind: 'own'; tag: SendTag; recipient?: number; part: number }
  /** `platformId`: under which it is kept, see received-id.ts. */
  | { kind: 'received'; platformId: string; from: string };

/** Content of one message of a send; `undefined` for a part that it does not have. */
export function contentOfPart(content: MessageContent, part: number): MessageContent | undefined {
  if (part === 0) return content;
  if (part !== 1 || content.kind !== 'media' || content.followingText === undefined) return undefined;
  return { kind: 'text', text: content.followingText };
}

/** Kind under which a send is listed: its content, or `otp`, whose text has its own priority and lifetime. */
export type SendKind = ContentKind | 'otp';

/** The code of each kind in Redis: a new one gets the next number. */
export const KIND_CODES: Readonly<Record<SendKind, number>> = { text: 0, media: 1, otp: 2 };
export const SEND_KINDS = Object.keys(KIND_CODES) as SendKind[];
