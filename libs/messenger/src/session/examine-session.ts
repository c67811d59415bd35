import type { BacklogState, LimitReport, SessionReport } from '@gateway/contracts/devices/session-report';
import { readAddressing } from '../addressing/addressing-state.js';
import { type Answer, askLimits } from '../codes/read-restriction.js';
import type { HistoryCreds } from '../history/own-creds.js';
import type { LookUp } from '../lookup/look-up.js';
import type { AuthenticationCreds, BaileysSocket } from '../socket/baileys.js';
import type { OptionalQueries } from './optional-queries.js';

export interface ExamineDeps {
  sock: BaileysSocket;
  creds: AuthenticationCreds;
  lookUp: LookUp;
  optional: OptionalQueries;
  backlog: BacklogState;
  /** Digits of the account. */
  phone: string;
  signal: AbortSignal;
}

type KnownCreds = HistoryCreds & { loginCounter?: number };

/** State of a session: what is known about the account, and how the network answers two queries. Sends no message. */
export async function examineSession(deps: ExamineDeps): Promise<SessionReport> {
  const creds: KnownCreds = deps.creds;
  const { namespace, bothRefused } = readAddressing(creds);
  const [{ lock, quota }, lookUp] = await Promise.all([
    askLimits(deps.sock, deps.signal, deps.optional),
    tryLookUp(deps),
  ]);
  return {
    namespace,
    ...(bothRefused && { bothNamespacesRefusedAtMs: bothRefused.atMs }),
    ...(creds.lidMigrationTimestamp !== undefined && { phoneMigratedAtMs: creds.lidMigrationTimestamp * 1000 }),
    hasHiddenIdentifier: creds.me?.lid !== undefined,
    hasHistory: creds.hasHistory === true,
    waitingHistories: creds.waitingHistories?.length ?? 0,
    hasSalt: creds.nctSalt !== undefined,
    networkAsksFor: { givenTokens: creds.showsTokens?.given ?? null, madeTokens: creds.showsTokens?.made ?? null },
    ...(creds.loginCounter !== undefined && { logins: creds.loginCounter }),
    ...{ backlog: deps.backlog, lookUp, lock: toReport(lock), quota: toReport(quota) },
  };
}

function toReport(answer: Answer): LimitReport {
  if (answer.kind !== 'restricted') return { state: answer.kind };
  const { untilMs } = answer.restriction;
  return { state: 'on', ...(untilMs !== undefined && { untilMs }) };
}

/** The lookup is of the account's own number: it exists, and reveals nothing about others. */
async function tryLookUp({ lookUp, phone }: ExamineDeps): Promise<SessionReport['lookUp']> {
  const startedMs = performance.now();
  const result = (await lookUp.lookUp([phone], { urgent: true })).get(phone);
  const tookMs = Math.round(performance.now() - startedMs);
  return result && 'error' in result ? { code: result.error, tookMs } : { tookMs };
}
