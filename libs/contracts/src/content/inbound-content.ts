import type { MessageId } from '../ids.js';

/** A file that a person sent, as far as it is needed to fetch it later. Hashes and keys in base64. */
export interface InboundMedia {
  /** Where the network keeps it, below the name of a file server. */
  directPath: string;
  /** The server that its sender names, with its port if that is another than 443: believed only if it is one of the network's. */
  host?: string;
  /** 32 bytes, from which the keys of the file are derived. */
  mediaKey: string;
  /** SHA-256 of the file. */
  sha256: string;
  /** SHA-256 of the file as the network keeps it. */
  sealedSha256: string;
  mimeType: string;
  /** As its sender says. */
  bytes: number;
  /** Of a video, or of sound. */
  seconds?: number;
  filename?: string;
}

/** A message that another is about. */
export interface MessageReference {
  /** At the network. */
  platformId: string;
  /** Of the send, if it is a message of ours. */
  messageId?: MessageId;
}

export interface InboundContact {
  name: string;
  /** Digits. */
  phones: string[];
}

/** Kinds of messages with a file. */
export const INBOUND_MEDIA_TYPES = ['image', 'video', 'audio', 'document', 'sticker'] as const;
export type InboundMediaType = (typeof INBOUND_MEDIA_TYPES)[number];

/** What a person wrote, beside its text: that of a message, the caption of a file, or the new text of what was edited. */
export type InboundContent =
  | { type: 'text' }
  /** `voice`: recorded in the conversation. */
  | { type: InboundMediaType; media: InboundMedia; voice?: true }
  | { type: 'location'; latitude: number; longitude: number; name?: string }
  | { type: 'contact'; contacts: InboundContact[] }
  /** `null`: the reaction was taken back. */
  | { type: 'reaction'; emoji: string | null; to: MessageReference }
  /** The options are sealed with a secret of the poll, which only those have who were in the conversation when it was made. */
  | { type: 'pollVote'; to: MessageReference }
  /** `isSealed`: its words are sealed with a secret that came with the message which it changes, and which is not here (any more). */
  | { type: 'edited'; to: MessageReference; isSealed?: true }
  | { type: 'deleted'; to: MessageReference }
  | { type: 'unsupported' };

/** Bounds of what is kept of a message; a phone may send anything. */
export const INBOUND_LIMITS = {
  /** What the messenger's own apps let people write. */
  maxTextCharacters: 65_536,
  maxNameCharacters: 100,
  maxContacts: 100,
  maxPhonesOfContact: 10,
  maxFilenameCharacters: 255,
  maxEmojiCharacters: 64,
} as const;
