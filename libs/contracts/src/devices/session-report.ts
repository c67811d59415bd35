/** What the network says of one limit when it is asked. */
export type LimitReport = { state: 'none' | 'unanswered' | 'unknownToNetwork' } | { state: 'on'; untilMs?: number };

/** Of what waited while the device was away. `noEndMark`: it counts as over, as nothing came for long, but the network has not said so. */
export type BacklogState = 'coming' | 'heard' | 'noEndMark';

/** How the session of a device stands, for `device doctor`. Nothing in it names a person or opens anything. */
export interface SessionReport {
  /** How conversations are addressed: learned from the phone or from the network's verdicts. */
  namespace: 'lid' | 'pn' | 'unknown';
  bothNamespacesRefusedAtMs?: number;
  phoneMigratedAtMs?: number;
  hasHiddenIdentifier: boolean;
  /** The first history of the phone has come. */
  hasHistory: boolean;
  /** Histories that are still to be fetched. */
  waitingHistories: number;
  /** For tokens that are made for strangers. */
  hasSalt: boolean;
  /** Which tokens the network wants to see; `null` while it has not said so. */
  networkAsksFor: { givenTokens: boolean | null; madeTokens: boolean | null };
  logins?: number;
  backlog: BacklogState;
  lock: LimitReport;
  quota: LimitReport;
  /** Of the account's own number. Without a code the network has answered. */
  lookUp: { code?: number; tookMs: number };
}
