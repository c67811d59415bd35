import type { SendTag } from '../ids.js';

/** What an attachment is shown as. */
export const MEDIA_TYPES = ['image', 'video', 'audio', 'document', 'sticker'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** What a send says, the same for all its recipients; stored once, sealed. */
export type MessageContent = TextContent | MediaContent;

export interface TextContent {
  kind: 'text';
  text: string;
}

/** The file itself is a blob, stored once, whatever the number of sends and recipients. */
export interface MediaContent {
  kind: 'media';
  type: MediaType;
  /** What the bytes are. */
  mimeType: string;
  filename?: string;
  caption?: string;
  /** SHA-256 of the file, hex. */
  blob: string;
  sizeBytes: number;
  /** Names the send among those that need the blob. */
  blobHolder: string;
  /** Pixels, of images, stickers and videos as far as known. */
  width?: number;
  height?: number;
  /** A sticker of several pictures: phones show it as a still one unless they are told. */
  animated?: boolean;
  /** Of audio and video as far as known. */
  seconds?: number;
  /** A small JPEG, base64: what a phone shows before it has the file. */
  thumbnail?: string;
  /** A second message of its own: the text of a medium that takes no caption, or has another one. */
  followingText?: string;
}

/** Where the network keeps an encrypted file, and what opens it. Binary fields are base64. */
export interface MediaUpload {
  url: string;
  directPath: string;
  mediaKey: string;
  fileSha256: string;
  fileEncSha256: string;
  /** Of the upload. */
  atMs: number;
}

/** A message that can go out as it is: files are at the network already. */
export type ReadyContent = (TextContent | (MediaContent & { upload: MediaUpload })) & { quoted?: Quoted };

/** A message that another one answers, as the phone of its recipient shows it. */
export interface Quoted {
  platformId: string;
  /** Jid of its writer; absent for our own messages. */
  from?: string;
  /** Absent when it is gone: phones then show their own copy. */
  content?: ReadyContent;
}

/** What a send answers, as its record keeps it. */
export type Reply =
  /** A message of our own; without a `recipient` each quotes the one that it got itself. */
  | { kind: 'own'; tag: SendTag; recipient?: number; part: number }
  | { kind: 'received'; platformId: string; from: string };

/** What one message of a send says; `undefined` for a part that it does not have. */
export function contentOfPart(content: MessageContent, part: number): MessageContent | undefined {
  if (part === 0) return content;
  if (part !== 1 || content.kind !== 'media' || content.followingText === undefined) return undefined;
  return { kind: 'text', text: content.followingText };
}

/** Decides the urgency and the life time of a send. */
export type SendKind = 'text' | 'media' | 'otp';
