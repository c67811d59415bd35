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
