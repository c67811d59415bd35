/**
 * Why a recipient failed, as stored in two bytes: 0 is none, 1-99 are ours, 100 and up are the network's own ack codes.
 * The names are public; append only.
 */
const OWN_ERRORS = {
  not_on_messenger: 1,
  content_unreadable: 3,
  attachment_unreadable: 6,
  attachment_not_uploaded: 7,
  recipient_opted_out: 8,
  new_contacts_held: 9,
  looked_up_again: 10,
  awaiting_history: 11,
  awaiting_key: 12,
  person_forgotten: 13,
  account_changed: 14,
} as const;

export type OwnRecipientError = keyof typeof OWN_ERRORS;

export function ownErrorCode(error: OwnRecipientError): number {
  return OWN_ERRORS[error];
}

/** Whether a stored code is one of the network's. */
export function isNetworkCode(code: number): boolean {
  return code >= 100;
}

/** The public name of a stored code: `not_on_messenger`, `network_463`, or `undefined` if there is none. */
export function recipientErrorName(code: number): string | undefined {
  if (code === 0) return undefined;
  const own = Object.entries(OWN_ERRORS).find(([, value]) => value === code);
  return own ? own[0] : `network_${code}`;
}

/** What a recipient waits for, and no failure. */
const WAITS: readonly string[] = [
  'new_contacts_held',
  'looked_up_again',
  'awaiting_history',
  'awaiting_key',
] satisfies OwnRecipientError[];
/** Codes of the network that are known to come; see docs/errors.md. */
const NETWORK_CODES = [400, 403, 404, 405, 406, 420, 421, 463, 475, 479];
const OTHER_CODE = 'network_other';

/** Why recipients fail, where names must be known before: each other code of the network is `network_other`. */
export const FAILURE_NAMES: readonly string[] = [
  ...Object.keys(OWN_ERRORS).filter((name) => !WAITS.includes(name)),
  ...NETWORK_CODES.map((code) => `network_${code}`),
  OTHER_CODE,
];

/** @param error as `recipientErrorName` gives it. */
export function toFailureName(error: string): string {
  return FAILURE_NAMES.includes(error) ? error : OTHER_CODE;
}
