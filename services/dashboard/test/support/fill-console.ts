import type { ObservedState } from '@gateway/contracts/devices/device-state';
import { makeAttemptId } from '@gateway/contracts/ids';
import { recordAudit } from '@gateway/store/console/audit';
import { createUser } from '@gateway/store/console/users';
import type { Store } from '@gateway/store/core/store';
import { requestLink } from '@gateway/store/devices/device-state';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { cancelSend } from '@gateway/store/sends/change-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { linkDevice, ownDevice } from '../../../api/test/support/device-owner.js';
import { makeSend } from './make-send.js';
import { makeWebhook } from './make-webhook.js';

const HOUR_MS = 3_600_000;
const ORDER = { text: 'Your order is ready.' };
const inMain = (device: string) => ({ workspace: 'main', device });

/** A shop with five accounts, in all states, an hour of messages, and what one has made of settings in that time. */
export async function fillShop(store: Store, { everyMinutes = 2 } = {}): Promise<void> {
  const connect = async (device: string, phone: string, name: string, more: Partial<ObservedState> = {}) => {
    const owner = await linkDevice(store, inMain(device));
    await owner.observe({ status: 'connected', phone, name, ...more }, 'linked');
    return owner;
  };
  const books = await connect('default', '447700900100', 'Harbour Books');
  for (let minute = 58; minute > 0; minute -= everyMinutes) {
    const count = 30 + 25 * Math.sin(minute / 6) + (minute % 5) * 4;
    const nowMs = Date.now() - minute * 60_000;
    await makeSend(store, books, { ...ORDER, count: Math.round(count), share: minute % 4 ? 1 : 0.6, nowMs });
  }
  await makeSend(store, books, { ...ORDER, count: 40, finishAtMs: Date.now() - 360_000 });
  const withdrawn = await makeSend(store, books, { text: 'Closed today.', count: 75, share: 0.2 });
  await cancelSend(store, inMain('default'), withdrawn);
  // Too much for a picture of the last hour.
  const nowMs = Date.now() - 1.1 * HOUR_MS;
  await makeSend(store, books, { count: 3_000, text: 'We are open on Sunday, with readings from four.', nowMs });
  await connect('deliveries', '447700900101', 'Harbour Deliveries', { reason: 'awaiting_backlog' });
  const events = await connect('events', '447700900102', 'Harbour Events');
  const lock = { sinceMs: Date.now() - HOUR_MS, untilMs: Date.now() + 5.5 * HOUR_MS };
  await recordRestriction(store, events.ownership, { kind: 'reach_out_time_lock', ...lock });
  const gone = await linkDevice(store, inMain('newsletter'));
  await gone.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
  const support = await ownDevice(store, inMain('support'));
  await requestLink(store, inMain('support'), { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
  const code = `2@${'Zm9yIHRoZSBwaG9uZSBhbG9uZQ'.repeat(8)}`;
  await support.observe({ status: 'connecting', reason: 'linking', code, codeExpiresAtMs: Date.now() + 60_000 });
  await fillSettings(store);
}

async function fillSettings(store: Store): Promise<void> {
  await makeWebhook(store, {
    ...{ url: 'https://shop.example.com/hooks/messages', settings: { description: 'Web shop' } },
    ...{ answers: [200, 503, 503, 200, 200], parked: 2 },
  });
  await makeWebhook(store, {
    url: 'https://desk.example.com/in',
    settings: { description: 'Help desk', types: ['message.received'], devices: ['support'] },
    ...{ answers: [200, 503, 503], isFailing: true },
  });
  await makeWebhook(store, { url: 'https://new.example.com/hooks' });
  await createApiToken(store, 'main', { name: 'web shop' });
  await createApiToken(store, 'main', { name: 'ticket machine', device: 'events', scopes: ['send', 'read'] });
  await createApiToken(store, 'main', { name: 'till', expiresAtMs: Date.now() + 20 * 24 * HOUR_MS });
  const numbers = Array.from({ length: 12 }, (_, i) => String(447700900500 + i));
  await addOptOuts(store, 'main', { numbers, source: 'reply', atMs: Date.now() - 26 * HOUR_MS });
  await addOptOuts(store, 'main', { numbers: ['99887766554433@lid'], source: 'reply', atMs: Date.now() - HOUR_MS });
  await addOptOuts(store, 'main', { numbers: ['971501234567'], source: 'api', atMs: Date.now() });
  for (const [name, role] of [
    ['ann@harbour.example', 'operator'],
    ['omar', 'viewer'],
  ] as const) {
    await createUser(store, name, role);
    await recordAudit(store, { user: 'admin', action: 'user.created', target: name, requestId: `req_${name.length}` });
  }
  for (const action of ['device.link_asked', 'device.renamed', 'token.created', 'webhook.tested'] as const)
    await recordAudit(store, {
      user: 'ann@harbour.example',
      action,
      workspace: 'main',
      target: 'events',
      requestId: 'req_0q3v8m',
    });
}

/** The shop, and a device, a send, a webhook and a token with names that try to be more than that. */
export async function fillConsole(store: Store): Promise<void> {
  const name = '<img src=x onerror=alert(1)>\u202Egnp';
  await makeWebhook(store, {
    ...{ url: 'https://hooks.example.com/x', settings: { description: name, devices: ['hostile'] } },
    ...{ answers: [200, 500], isFailing: true, parked: 2 },
  });
  await fillShop(store, { everyMinutes: 16 });
  const owner = await linkDevice(store, inMain('hostile'));
  await owner.observe({ status: 'connected', phone: '447700900123', name }, 'linked');
  await makeSend(store, owner, { count: 50, text: name });
  await createApiToken(store, 'main', { name: '=HYPERLINK("https://evil.example")\u202E', device: 'hostile' });
}
