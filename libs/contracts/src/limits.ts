/** Every number that the public contract promises, once. Times carry their unit in the name. */
export const LIMITS = {
  maxRecipients: 10_000,
  /** A send to no more people is small: it goes out of the way of no list. */
  smallSendRecipients: 10,
  maxTextCharacters: 65_536,
  maxAttachmentBytes: 10 * 1024 * 1024,
  /** How long a caller waits while an attachment's URL is fetched, redirects included. */
  attachmentFetchSeconds: 10,
  maxAttachmentRedirects: 5,
  /** Fetches of one token at a time; further ones wait. */
  attachmentFetchesPerToken: 8,
  maxAttachmentUrlCharacters: 2_048,
  maxFilenameCharacters: 255,
  maxCaptionCharacters: 1_024,
  /** A blob outlives the latest of its sends by this: a try that began in time may still read it. */
  blobGraceSeconds: 10 * 60,
  sendExpirySeconds: 24 * 60 * 60,
  otpExpirySeconds: 5 * 60,
  /** How long a caller waits for the network to accept an OTP. */
  otpWaitSeconds: 10,
  /** How long after the ack a phone that could not decrypt an OTP may ask for it again. */
  otpErasureSeconds: 10 * 60,
  /** How long a contact may be silent before their session is deleted; the next message makes a new one. */
  sessionUnusedSeconds: 30 * 24 * 60 * 60,
  /** How long a finished send stays readable. */
  sendRetentionSeconds: 7 * 24 * 60 * 60,
  /** An owner has taken a send in by then, or it is woken again. */
  takenInSeconds: 2,
  /** How long a repeated request gets the first answer. */
  idempotencySeconds: 24 * 60 * 60,
  maxIdempotencyKeyCharacters: 255,
  maxValidationDetails: 100,
  rateLimitWindowSeconds: 60,
  failedTokensPerMinute: 20,
  /** Per address, for requests that need no token. */
  tokenlessPerMinute: 60,
  /** Files that a token fetches at a time; further requests wait a moment. */
  mediaPerToken: 8,
  /** Calls of a token that wait for events, and streams of them. */
  eventWaitsPerToken: 5,
  maxCheckedContacts: 1_000,
  /** How long a caller waits for the network's answer about contacts. */
  contactsWaitSeconds: 20,
  /** After this time without a taker, a question has no sender. */
  questionTakenSeconds: 2,
  /** Of a body, all but the file inside it. */
  maxBodyBytesBesideFile: 1024 * 1024,
  /** How deep a body may be nested, and how many fields and entries it may have: a full list of recipients, and some more. */
  maxBodyDepth: 8,
  maxBodyEntries: 12_000,
  /** How long a body may take before it must be fast. */
  bodySlowStartSeconds: 5,
  /** Average speed that a body must reach from then on; a text has arrived by then at any speed. */
  minBodyBytesPerSecond: 16 * 1024,
  connectWaitSeconds: 20,
  /** Five to take over a device whose owner is dead, ten to log in and out again, one in reserve. */
  disconnectWaitSeconds: 16,
} as const;

/** Requests per token and minute, by bucket. `GET` and `POST /connect` share one; unknown paths and methods share `other`. */
export const RATE_LIMITS = {
  connect: 15,
  disconnect: 5,
  status: 20,
  send: 30,
  otp: 10,
  messages: 60,
  optOuts: 60,
  contacts: 10,
  webhooks: 60,
  media: 60,
  events: 120,
  other: 60,
} as const;

export type RateLimitBucket = keyof typeof RATE_LIMITS;
