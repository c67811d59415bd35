/** The network's answer about one limit. */
export type LimitReport = { state: 'none' | 'unanswered' | 'unknownToNetwork' } | { state: 'on'; untilMs?: number };

/** State of the backlog of incoming messages. `noEndMark`: it counts as over, as nothing came for long, but there was no end mark. */
export type BacklogState = 'coming' | 'heard' | 'noEndMark';

/** State of a device's session, for `device doctor`. Contains no names of people and no secrets. */
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
  /** Which tokens the network requires; `null` while unknown. */
  networkAsksFor: { givenTokens: boolean | null; madeTokens: boolean | null };
  logins?: number;
  backlog: BacklogState;
  lock: LimitReport;
  quota: LimitReport;
  /** Of the account's own number. Without a code the network has answered. */
  lookUp: { code?: number; tookMs: number };
}
