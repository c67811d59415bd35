import type { AuthenticationCreds } from '../socket/baileys.js';

/** A history that the phone has put on the network's file servers for us to fetch. */
export interface WaitingHistory {
  directPath: string;
  /** Base64, as is the hash. */
  mediaKey: string;
  fileEncSha256: string;
  /** It is the one with the salt. */
  isFirst: boolean;
  /** Attempts so far. */
  attempts: number;
}

/** What histories store in the credentials: the library keeps unknown fields. */
export type HistoryCreds = AuthenticationCreds & {
  /** Base64. The salt for tokens to strangers; some accounts have none. */
  nctSalt?: string;
  /** When the account's phone went over to hidden identifiers, Unix seconds. */
  lidMigrationTimestamp?: number;
  /** The first history has arrived, regardless of its content. */
  hasHistory?: true;
  waitingHistories?: WaitingHistory[];
  /** How often the salt was looked for in the settings; see app-state/salt-seeker.ts. */
  saltAttempts?: number;
  /** When this program linked the device, by its clock; absent for keys of another one. */
  linkedAtMs?: number;
  /** Messages to strangers that were refused in a row, while there was no salt. */
  strangersRefused?: number;
  /** Which tokens the network requires, as far as known: those that people gave, those made for strangers. */
  showsTokens?: { given?: boolean; made?: boolean };
};
