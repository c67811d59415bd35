import { deriveStatus, REASONS } from '@gateway/contracts/devices/device-state';
import { MAX_TRACE_SECONDS } from '@gateway/contracts/devices/owner-questions';
import type { SessionReport } from '@gateway/contracts/devices/session-report';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';
import { systemClock } from '@gateway/runtime/clock';
import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { readDevice } from '@gateway/store/devices/devices';
import { readLeftOut } from '@gateway/store/devices/incidents/query-ends';
import { countContactTokens } from '@gateway/store/devices/keys/device-keys';
import { ClientVersion, type VersionInForce } from '@gateway/store/fleet/client-version';
import { hasSender } from '@gateway/store/fleet/members';
import type { CliContext } from '../cli-context.js';
import { showTime } from '../output.js';
import { askDevice } from './ask-device.js';
import { adviseOn } from './doctor-advice.js';

export interface DoctorOptions {
  device?: string;
  /** Seconds, or `true` for as many as there may be. */
  trace?: number | true;
}

/** `device doctor`: what is known about an account and how the network answers it. Sends no message. */
export async function examineDevice(context: CliContext, options: DoctorOptions): Promise<void> {
  const { store, workspace, output } = context;
  const device = options.device ?? (await readDefaultDevice(store, workspace));
  const address = { workspace, device };
  if (!(await readDevice(store, address))) throw new Error(`there is no device ${device}`);
  if (options.trace !== undefined) return showTrace(context, address, options.trace);
  const [state, version, tokens, leftOut, session, senders] = await Promise.all([
    readDeviceState(store, address),
    readVersion(context),
    countContactTokens(store, address),
    readLeftOut(store, address),
    askDevice<SessionReport | null>(context, address, { kind: 'session' }),
    hasSender(store),
  ]);
  const status = deriveStatus(state.desired, state.observed, state.isOwned, { hasSender: senders });
  const isConnected = status.status === 'connected';
  const facts = { isConnected, session: session.answer, version, leftOut: [...leftOut], nowMs: systemClock.nowMs() };
  output.show({
    device,
    status: status.status,
    ...(status.status === 'connected'
      ? { account: maskPhoneNumber(status.phone), ...(status.reason && { waits: REASONS[status.reason] }) }
      : { why: REASONS[status.reason], networkSays: status.networkReason }),
    ...showVersion(version),
    network: context.realNetwork ? 'the real one' : 'a simulator',
    tokensOfContacts: tokens,
    ...(leftOut.size > 0 && { queriesLeftOut: [...leftOut].join(', ') }),
    ...(session.answer ? showSession(session.answer) : { session: session.why ?? 'not connected' }),
  });
  for (const advice of adviseOn(facts)) output.note(`\n- ${advice}`);
}

async function showTrace(context: CliContext, address: DeviceAddress, asked: number | true): Promise<void> {
  const seconds = asked === true ? MAX_TRACE_SECONDS : asked;
  context.output.note(`Traffic on the connection of ${address.device} in the next ${seconds} s:\n`);
  const { answer, why } = await askDevice<string[] | null>(context, address, { kind: 'trace', seconds });
  if (!answer) throw new Error(why ?? 'the device has no connection');
  context.output.list(
    answer.map((stanza) => ({ stanza })),
    (index) => ({ stanza: answer[index]! }),
    'There was no traffic.',
  );
}

function readVersion({ store, logger, messengerVersion }: CliContext): Promise<VersionInForce> {
  return new ClientVersion({ store, logger, clock: systemClock, configured: messengerVersion }).read();
}

function showVersion({ version, source, isRefused, sinceMs, expiresAtMs }: VersionInForce) {
  return {
    version: `${version} (${source}${isRefused ? ', refused by the network' : ''})`,
    versionSince: showTime(sinceMs),
    versionExpires: expiresAtMs === undefined ? 'not announced' : showTime(expiresAtMs),
  };
}

function showSession(report: SessionReport): Record<string, unknown> {
  const { networkAsksFor: asks, lock, quota, lookUp } = report;
  return {
    namespace: report.namespace,
    hiddenIdentifier: yesNo(report.hasHiddenIdentifier),
    phoneMigrated: report.phoneMigratedAtMs === undefined ? 'not told' : showTime(report.phoneMigratedAtMs),
    history: report.hasHistory ? `received, ${report.waitingHistories} to fetch` : 'not received',
    salt: yesNo(report.hasSalt),
    networkAsksForTokens: `given ${yesNo(asks.givenTokens)}, made ${yesNo(asks.madeTokens)}`,
    lock: showLimit(lock),
    newChatCap: showLimit(quota),
    lookUp: lookUp.code === undefined ? `answered in ${lookUp.tookMs} ms` : `failed with ${lookUp.code}`,
    backlog: BACKLOG[report.backlog],
    logins: report.logins ?? 'not counted',
  };
}

const BACKLOG = {
  coming: 'still coming',
  heard: 'heard to its end',
  noEndMark: 'no end mark came',
} as const satisfies Record<SessionReport['backlog'], string>;

function showLimit(limit: SessionReport['lock']): string {
  if (limit.state === 'unknownToNetwork') return 'not known to the network';
  if (limit.state !== 'on') return limit.state;
  return limit.untilMs === undefined ? 'on, without an end' : `on until ${showTime(limit.untilMs)}`;
}

function yesNo(value: boolean | null): string {
  return value === null ? 'not told' : value ? 'yes' : 'no';
}
