import type { ApiTokenScope } from '../api-token.js';
import type { LinkMethod, PublicStatus, Reason } from '../devices/device-state.js';
import type { Pace } from '../devices/pace.js';
import type { HeldRestriction } from '../devices/restriction.js';
import type { DeviceId } from '../ids.js';
import type { OptOutSource } from '../people/opt-outs.js';
import type { AuditAction, UserRole } from './users.js';

/** Who is signed in, and where. */
export interface Me {
  user: { name: string; role: UserRole; hasPassword: boolean };
  api: { url: string };
  workspace: string;
  /** The network is a stand-in: no message reaches a person. */
  isSimulated: boolean;
}

/** What the page shows of a device. Times in ms since 1970. */
export interface DeviceView {
  id: DeviceId;
  name: string;
  isDefault: boolean;
  status: PublicStatus['status'];
  reason?: Reason;
  /** Of the linked account: digits, or masked. */
  phone?: string;
  accountName?: string;
  /** The account has a picture that is shown; the text changes with it. */
  picture?: string;
  sinceMs?: number;
  /** No login before. */
  notBeforeMs?: number;
  /** Messages that wait; of one whose data are unavailable that is not known, as is its pace. */
  backlog: number;
  /** Its own, or that of the senders. */
  pace: Pace;
  hasOwnPace: boolean;
  restriction?: Pick<HeldRestriction, 'kind' | 'sinceMs' | 'untilMs'>;
  createdAtMs: number;
  /** While an account is being linked. */
  link?: DeviceLink;
}

export interface DeviceLink {
  attemptId: string;
  method: LinkMethod;
  /** Text of the QR code, or the code to enter. Only for those who may link. */
  code?: string;
  codeExpiresAtMs?: number;
}

/** What the page shows of a token: never what it says. */
export interface TokenView {
  keyId: string;
  name: string;
  device?: string;
  scopes: readonly ApiTokenScope[];
  state: 'active' | 'revoked' | 'expired';
  createdAtMs: number;
  expiresAtMs?: number;
  revokedAtMs?: number;
  lastUsedAtMs?: number;
}

/** What the page shows of another user. */
export interface UserView {
  name: string;
  role: UserRole;
  hasPassword: boolean;
  createdAtMs: number;
  /** Where they are signed in now. */
  sessions: number;
}

/** Where a user is signed in. */
export interface SessionView {
  /** Leads to nothing: a page of its list needs names. */
  id: string;
  createdAtMs: number;
  lastUsedAtMs?: number;
  /** What the browser said of itself, at most 200 characters. */
  browser?: string;
  /** The one that asks. */
  isThis: boolean;
}

export interface AuditView {
  id: string;
  atMs: number;
  user: string;
  action: AuditAction;
  /** Absent where it concerns the whole installation. */
  workspace?: string;
  target?: string;
  requestId?: string;
}

/** Without a number that is known, `phone` is null. For viewers it is masked. */
export interface OptOutView {
  phone: string | null;
  /** For those who may lift it. */
  hiddenId?: string;
  source: OptOutSource;
  /** ISO 8601. */
  at: string;
}
