import Joi from 'joi';

interface MediaFacts {
  /** The word for such a file in messages to people. */
  name: string;
  /** Whether phones show words with it; else they follow as a message of their own. */
  takesCaption: boolean;
}

/** The kinds of attachments. */
export const MEDIA = {
  image: { name: 'an image', takesCaption: true },
  video: { name: 'a video', takesCaption: true },
  audio: { name: 'a sound', takesCaption: false },
  document: { name: 'a document', takesCaption: true },
  sticker: { name: 'a WebP image', takesCaption: false },
} as const satisfies Record<string, MediaFacts>;
export type MediaType = keyof typeof MEDIA;
export const MEDIA_TYPES = Object.keys(MEDIA) as MediaType[];

/** The file itself is a blob, stored once, whatever the number of sends and recipients. */
export interface MediaContent {
  kind: 'media';
  type: MediaType;
  /** Type of the bytes. */
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
  /** An animated sticker: phones show it as a still image unless this is set. */
  animated?: boolean;
  /** Of audio and video as far as known. */
  seconds?: number;
  /** A small JPEG, base64: shown by phones before the download. */
  thumbnail?: string;
  /** A second message: the text with a medium that has no caption, or another one. */
  followingText?: string;
}

/** Location of an uploaded file in the network, and its keys. Binary fields are base64. */
export interface MediaUpload {
  url: string;
  directPath: string;
  mediaKey: string;
  fileSha256: string;
  fileEncSha256: string;
  /** Of the upload. */
  atMs: number;
}

/** As stored: a file, and what phones show before the download. */
export const mediaContentSchema = Joi.object<MediaContent>({
  kind: Joi.string().valid('media').required(),
  type: Joi.string()
    .valid(...MEDIA_TYPES)
    .required(),
  mimeType: Joi.string().required(),
  filename: Joi.string(),
  caption: Joi.string(),
  blob: Joi.string().required(),
  sizeBytes: Joi.number().required(),
  blobHolder: Joi.string().required(),
  width: Joi.number(),
  height: Joi.number(),
  animated: Joi.boolean(),
  seconds: Joi.number(),
  thumbnail: Joi.string(),
  followingText: Joi.string(),
});
