import { setTimeout } from 'node:timers/promises';
import { isDeviceId } from '@gateway/contracts/ids';
import { toError } from '@gateway/runtime/errors';
import { readDeviceState } from '@gateway/store/devices/device-state';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ConsoleError } from '../../http/console-error.js';
import { operation } from '../../http/operation.js';

/** The network of 2026 retires the first code when it is scanned, and wants the next one scanned as well. */
const MAX_SCANS = 2;
const NEXT_CODE_MS = 10_000;
const LOOK_MS = 100;

/** A simulated phone scans, or types, the code that the page of this device shows. There is none on the real network. */
export const linkWithSimulatedPhone = operation({
  method: 'post',
  path: '/devices/:device/simulated-link',
  for: 'operator',
  async handle({ params: { device = '' }, signal }, deps) {
    const { simulatorUrl } = deps;
    if (simulatorUrl === undefined || !isDeviceId(device)) throw new ConsoleError('not_found');
    let code: string | undefined;
    for (let scans = 1; scans <= MAX_SCANS; scans++) {
      const shown = await nextCode(deps, { device, before: code, signal });
      code = shown.code;
      const refusal = await takeCode(simulatorUrl, shown, signal);
      if (refusal === undefined) return { body: {} };
      if (!refusal.includes('scan again')) break;
    }
    throw new ConsoleError('simulated_phone_refused');
  },
});

interface Shown {
  code: string;
  /** Of the phone that types the code; `undefined`: it is one to scan. */
  phone: string | undefined;
}

interface Wanted {
  device: string;
  before: string | undefined;
  signal: AbortSignal;
}

async function nextCode(
  { store, workspace, clock }: DashboardDeps,
  { device, before, signal }: Wanted,
): Promise<Shown> {
  const endMs = clock.monotonicMs() + NEXT_CODE_MS;
  while (clock.monotonicMs() < endMs && !signal.aborted) {
    const { desired, observed } = await readDeviceState(store, { workspace, device });
    if (observed?.code !== undefined && observed.code !== before) return { code: observed.code, phone: desired?.phone };
    await setTimeout(LOOK_MS);
  }
  throw new ConsoleError('simulated_phone_refused');
}

/** Why it was refused. */
async function takeCode(
  simulatorUrl: string,
  { code, phone }: Shown,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const [path, type, body] =
      phone === undefined
        ? ['scan-qr', 'text/plain', code]
        : ['enter-code', 'application/json', JSON.stringify({ number: phone, code })];
    const answer = await fetch(`${simulatorUrl}/admin/mock-phone/${path}`, {
      ...{ method: 'POST', headers: { 'content-type': type }, body },
      signal: AbortSignal.any([signal, AbortSignal.timeout(NEXT_CODE_MS)]),
    });
    const said = await answer.text();
    return answer.ok ? undefined : said;
  } catch (thrown) {
    throw new ConsoleError('unavailable', { cause: toError(thrown) });
  }
}
