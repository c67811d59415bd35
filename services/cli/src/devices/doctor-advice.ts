import type { SessionReport } from '@gateway/contracts/devices/session-report';
import { MS_PER_DAY } from '@gateway/store/core/vault';
import type { VersionInForce } from '@gateway/store/fleet/client-version';
import { showTime } from '../output.js';

export interface DoctorFacts {
  isConnected: boolean;
  session: SessionReport | null | undefined;
  version: VersionInForce;
  /** Queries that ended the connection each time they were asked. */
  leftOut: readonly string[];
  nowMs: number;
}

const OLD_VERSION_DAYS = 60;
const SOON_DAYS = 14;

/** Advice for the operator; `docs/real-network.md` has the reasons. */
export function adviseOn({ isConnected, session, version, leftOut, nowMs }: DoctorFacts): string[] {
  return [
    ...adviseOnVersion(version, nowMs),
    ...(isConnected ? [] : ['The device is not connected: see the reason above, and docs/errors.md for what to do.']),
    ...(leftOut.length > 0
      ? [
          `The network closes the connection after these queries: ${leftOut.join(', ')}. They are left out for a day. Send us a trace.`,
        ]
      : []),
    ...(session ? adviseOnSession(session) : []),
  ];
}

function adviseOnVersion({ version, isRefused, sinceMs, expiresAtMs }: VersionInForce, nowMs: number): string[] {
  if (isRefused)
    return [`The network refuses version ${version}: no device logs in until you set another one (version set).`];
  if (expiresAtMs !== undefined && expiresAtMs - nowMs < SOON_DAYS * MS_PER_DAY) {
    return [
      `The network will refuse version ${version} from ${showTime(expiresAtMs)} on: set a newer one before then.`,
    ];
  }
  const ageDays = Math.floor((nowMs - sinceMs) / MS_PER_DAY);
  return ageDays > OLD_VERSION_DAYS ? [`Version ${version} is ${ageDays} days old: set a newer one soon.`] : [];
}

function adviseOnSession(report: SessionReport): string[] {
  const advice: (string | false)[] = [
    report.namespace === 'unknown' &&
      'The namespace is not known yet: the first accepted message will tell. Send one to a number of yours.',
    report.bothNamespacesRefusedAtMs !== undefined &&
      `The network refused a message in both namespaces (${showTime(report.bothNamespacesRefusedAtMs)}): the cause is a lock, a missing token, or a change in the network. Send us a trace.`,
    !report.hasSalt &&
      report.networkAsksFor.madeTokens !== false &&
      'There is no salt: first messages to strangers may be refused with 463. Linking the account again may bring it.',
    report.lock.state === 'on' && 'The account may not start new conversations for now. Messages to strangers wait.',
    report.quota.state === 'on' && 'The account has used up its new conversations for now. Messages to strangers wait.',
    report.lock.state === 'unanswered' && 'The network did not answer whether the account is locked. Send us a trace.',
    report.quota.state === 'unanswered' && 'The network did not answer how many new conversations are left.',
    report.lookUp.code !== undefined &&
      `The lookup of the account's own number failed with ${report.lookUp.code}: messages to new recipients will wait. Send us a trace.`,
    report.backlog === 'noEndMark' &&
      'The network sent no end mark for the backlog: lists go out anyway after 60 s of silence. Send us a trace.',
    report.backlog === 'coming' && 'The backlog of incoming messages is still arriving: lists start after it.',
  ];
  return advice.filter((line) => line !== false);
}
