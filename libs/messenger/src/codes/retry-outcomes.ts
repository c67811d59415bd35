/** What became of a request. `not_ours`: we do not have the message, or did not send it; `not_read`: the network sends the request again. */
export const RETRY_OUTCOMES = ['answered', 'not_ours', 'not_read', 'refused'] as const;
export type RetryOutcome = (typeof RETRY_OUTCOMES)[number];
