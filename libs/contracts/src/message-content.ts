/** What a send says, the same for all its recipients; stored once, sealed. Grows with the API: text for now. */
export type MessageContent = { kind: 'text'; text: string };

/** Decides the urgency and the life time of a send. */
export type SendKind = 'text' | 'otp';
