import { askedPauseEndMs, deriveStatus, type LinkMethod, REASONS } from '@gateway/contracts/devices/device-state';
import { type DeviceAddress, makeAttemptId } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { cancelLink, type DeviceState, readDeviceState, requestLink } from '@gateway/store/devices/device-state';
import { DevicesFullError, ensureDevice, readDevice } from '@gateway/store/devices/devices';
import { relistDevice } from '@gateway/store/devices/listing/relist-device';
import { knownMembers } from '@gateway/store/fleet/members';
import QRCode from 'qrcode';
import type { ApiDeps } from '../api-deps.js';
import { NO_BODY_BYTES, noBody } from '../http/body/no-body.js';
import type { Answer, Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { waitForDevice } from './wait-for-device.js';

interface ConnectQuery {
  method: LinkMethod;
  /** Digits; only used with `pairingCode`. */
  phoneNumber?: string;
  forceNew: boolean;
  rawQrCode: boolean;
}
type ConnectCall = Call<ConnectQuery, Record<string, never>>;

/**
 * `GET|POST /connect`: links an account to the device. Asks the owner for a link and waits for its first code; opens no
 * socket itself. Safe to repeat: while an attempt runs, every call answers with its current code.
 */
export const connectDevice: Endpoint<ConnectQuery, Record<string, never>> = {
  methods: ['get', 'post'],
  path: '/connect',
  bucket: 'connect',
  scope: 'connect',
  query: Joi.object<ConnectQuery>({
    method: Joi.string().valid('qrCode', 'pairingCode').default('qrCode').description('How the phone is linked.'),
    phoneNumber: Joi.phoneNumber()
      .description('Number of the account; required with `pairingCode`, not used otherwise.')
      .when('method', { is: 'qrCode', otherwise: Joi.required() }),
    forceNew: Joi.boolean()
      .default(false)
      .description(
        'Log out a linked account first, for good, or start a new attempt; kept keys are not used. The old link is gone before ' +
          'the new one works: an account that asks for a passkey by now cannot be linked again. Refused with 409 if the last ' +
          'attempt ended with `passkey_required` and the device has an account since, such as an imported one.',
      ),
    rawQrCode: Joi.boolean().default(false).description('Answer with the text of the QR code instead of an image.'),
  }),
  body: noBody,
  maxBodyBytes: NO_BODY_BYTES,
  docs: {
    operationId: 'connectDevice',
    summary: 'Link an account',
    description:
      'Starts to link an account to the device and answers with the first code, or with the current code of a running ' +
      'attempt. The network replaces QR codes every few seconds: call again for the current one, and read `/status` to see ' +
      'when the phone has accepted it. After the first scan the network wants a second scan, of a new code: `reason` is then ' +
      '`scan_again`, here and in `/status`; call again and show that code. A pairing code is returned once the network has ' +
      'accepted it. A device that already has an account gets no code. For a device that is `disconnected` with `replaced`, ' +
      'the kept keys are tried once: if the network accepts them there is no code, if it refuses them there is one, and while ' +
      'another client uses them the answer is 409 and the keys are kept.',
    answer: {
      status: 200,
      description: 'The code to scan or to enter, or the status of a device that is already linked.',
      body: Joi.object({
        status: Joi.string().valid('connecting', 'connected').required(),
        reason: Joi.string()
          .valid('scan_again')
          .description('The phone has scanned one code and must scan this one as well.'),
        qrCode: Joi.string().description('PNG as a data URL; with `rawQrCode` the text of the code.'),
        pairingCode: Joi.string().description('Eight letters and digits to enter on the phone.'),
      }),
    },
    errors: ['link_ended', 'passkey_required', 'devices_full', 'no_sender', 'network_timeout', 'not_confirmed'],
  },

  async handle(call, deps) {
    const { store } = deps;
    const { address, query } = call;
    const before = await readDeviceState(store, address);
    if (before.desired?.want === 'linked') await relistDevice(store, address, call.token.keyId);
    if (before.desired?.want === 'linked' && !query.forceNew) return describeLinked(before);
    if (query.forceNew) await keepLastLink(call, deps, before);
    else refuseAfterPasskey(before, deps.clock.nowMs());
    refuseInPause(before, deps.clock.nowMs());
    await requireVersion(deps);
    // A new account brings keys: 300 kB.
    if (before.desired?.want !== 'linking') await deps.headroom.refuseWithoutRoom('urgent', 0, address);
    await requireSender(deps, before);
    await makeDevice(store, call);
    const { outcome, attemptId } = await startLink(call, deps);
    const result = await waitForCode(call, deps, attemptId);
    // Who has the code may link an account of theirs.
    await call.requireToken();
    const audit = outcome === 'started' && { audit: { action: 'device.link_asked', target: address.device } as const };
    if (!('code' in result)) return { ...describeLinked(result), ...audit };
    const reason = result.scanAgain && { reason: 'scan_again' };
    return { status: 200, body: { status: 'connecting', ...reason, ...(await showCode(result, query)) }, ...audit };
  },
};

async function makeDevice(store: Store, { address, token: { keyId } }: ConnectCall): Promise<void> {
  await ensureDevice(store, address, { keyId }).catch((thrown: unknown) => {
    throw thrown instanceof DevicesFullError ? new ApiError('devices_full') : thrown;
  });
}

/** The network wants no login of the device: its account could not be logged out, nor its kept keys be tried. */
function refuseInPause({ observed }: DeviceState, nowMs: number): void {
  const restMs = askedPauseEndMs(observed) - nowMs;
  if (!observed?.reason || restMs <= 0) return;
  const headers = { 'Retry-After': String(Math.ceil(restMs / 1000)) };
  throw new ApiError('link_ended', { details: [{ path: [], message: REASONS[observed.reason] }], headers });
}

/** No device logs in while the network refuses the version, and an old account must not be logged out for nothing. */
async function requireVersion({ clientVersion }: ApiDeps): Promise<void> {
  if (!(await clientVersion.read()).isRefused) return;
  throw new ApiError('link_ended', { details: [{ path: [], message: REASONS.client_outdated }] });
}

/** A newly linked device needs a sender afterwards. A linked one already has its place. */
async function requireSender({ store }: ApiDeps, { desired }: DeviceState): Promise<void> {
  const senders = await knownMembers(store);
  const hasPlace = desired?.want === 'linked';
  if (senders && !senders.some(({ held, capacity }) => hasPlace || held < capacity)) {
    throw new ApiError('no_sender', { headers: { 'Retry-After': '10' } });
  }
}

/** The attempt to wait for: a new one, or the one that runs. */
async function startLink({ address, query, token: { keyId } }: ConnectCall, { store }: ApiDeps) {
  const { method, phoneNumber, forceNew } = query;
  const link = await requestLink(store, address, {
    attemptId: makeAttemptId(),
    ...{ method, forceNew, keyId },
    ...(method === 'pairingCode' && phoneNumber !== undefined && { phone: phoneNumber }),
  });
  await ringDoorbell(store, { topic: 'desired', ...address });
  return link;
}

interface LiveCode {
  code: string;
  method: LinkMethod;
  scanAgain: boolean;
}

/** The code of the attempt, or the state of a device that was linked while we waited. */
async function waitForCode(
  { address, signal }: ConnectCall,
  deps: ApiDeps,
  attemptId: string,
): Promise<LiveCode | DeviceState> {
  const found = await waitForDevice(deps, address, {
    look: (state) => findCode(state, deps.clock.nowMs()),
    timeoutMs: deps.waits.codeMs,
    signal,
  });
  if (found) return found;
  await endAttempt(deps, address, attemptId);
  throw new ApiError('network_timeout');
}

function findCode(state: DeviceState, nowMs: number): LiveCode | DeviceState | undefined {
  const { desired, observed, isOwned } = state;
  if (desired?.want === 'linked') return state;
  if (desired?.want !== 'linking') throw explainEnd(state);
  // Another caller may have replaced our attempt by now: the code that is live is the answer to both. It dies with the
  // socket of the process that showed it.
  const isLive = isOwned && observed?.attemptId === desired.attemptId && (observed?.codeExpiresAtMs ?? 0) > nowMs;
  if (!isLive || !observed?.code) return undefined;
  const scanAgain = observed.reason === 'scan_again';
  return { code: observed.code, method: desired.method ?? 'qrCode', scanAgain };
}

/** Why an attempt was over before it had a code. */
function explainEnd({ desired, observed }: DeviceState): ApiError {
  const reason = (observed?.attemptId === desired?.attemptId && observed?.reason) || 'disconnected';
  if (reason === 'link_timeout') return new ApiError('network_timeout');
  if (reason === 'passkey_required') return passkeyRequired();
  return new ApiError('link_ended', { details: [{ path: [], message: REASONS[reason] }] });
}

function passkeyRequired(): ApiError {
  const reason = 'passkey_required';
  return new ApiError(reason, { reason, details: [{ path: [], message: REASONS[reason] }] });
}

/** An account asks for its passkey after the scan: for this long a call for the next code is answered with that. */
const PASSKEY_NEWS_MS = 60_000;

function refuseAfterPasskey({ desired, observed }: DeviceState, nowMs: number): void {
  const isAnswer = desired?.want === 'unlinked' && observed?.attemptId === desired.attemptId;
  if (!isAnswer || observed?.reason !== 'passkey_required') return;
  if (Math.abs(nowMs - observed.sinceMs) < PASSKEY_NEWS_MS) throw passkeyRequired();
}

/** The next attempt would fail in the same way, with the old link logged out: that takes an express `/disconnect`. */
async function keepLastLink({ address }: ConnectCall, { store }: ApiDeps, { desired }: DeviceState): Promise<void> {
  if (desired?.want !== 'linked' && desired?.want !== 'parked') return;
  if ((await readDevice(store, address))?.asksForPasskey) throw passkeyRequired();
}

/** So that the next call starts a new attempt instead of waiting for one that no process works on. */
async function endAttempt({ store }: ApiDeps, address: DeviceAddress, attemptId: string): Promise<void> {
  await cancelLink(store, address, { attemptId, reason: 'link_timeout' });
  await ringDoorbell(store, { topic: 'desired', ...address });
}

function describeLinked({ desired, observed, isOwned }: DeviceState): Answer {
  return { status: 200, body: { status: deriveStatus(desired, observed, isOwned).status } };
}

async function showCode({ code, method }: LiveCode, { rawQrCode }: ConnectQuery): Promise<Record<string, string>> {
  if (method === 'pairingCode') return { pairingCode: code };
  return { qrCode: rawQrCode ? code : await QRCode.toDataURL(code, { type: 'image/png', margin: 2, width: 320 }) };
}
