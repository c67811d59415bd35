import type { Account, BacklogRules } from '../accounts/account.js';
import type { LinkedDevice } from '../accounts/linked-device.js';
import { announceIdentity } from '../announcements/announce-identity.js';
import { announceRestrictions } from '../announcements/announce-restrictions.js';
import { changeAddressing } from '../announcements/change-addressing.js';
import { postStatus } from '../announcements/post-status.js';
import type { Gate } from '../gate/gate.js';
import { unlinkDevice } from '../messaging/unlink-device.js';
import { PairingError } from '../pairing/pairing-attempt.js';
import type { Server } from '../stanzas/stanza-context.js';
import { accountView, groupView } from './account-views.js';
import {
  readAccount,
  readCode,
  readFaultRule,
  readFaults,
  readPhone,
  readRefreshCode,
  readScan,
  readStatus,
  readStreamError,
} from './admin-bodies.js';
import { changePhone, personIn, phoneView } from './change-phone.js';
import { AdminError, HttpRouter } from './http-router.js';
import { deliveriesFrom, messagesOf, phonesIn } from './message-views.js';
import { makeMetrics } from './metrics.js';
import { addNetworkRoutes } from './network-routes.js';
import { drawPicture } from './picture.js';
import { readWrite } from './write-body.js';

/** How to reach the simulator. */
export interface SimulatorInfo {
  /** What clients connect to: `waWebSocketUrl`. */
  readonly socketUrl: string;
  readonly adminUrl: string;
  /** Root of the Noise certificate chain, 32 bytes. */
  readonly rootPublicKeyHex: string;
  /** The authority of its HTTPS certificate, for `NODE_EXTRA_CA_CERTS` and agents. */
  readonly caPem: string;
}

/** The control API: everything a test, a demo or a person may want to do to the network from outside. */
export function makeAdminRouter(
  server: Server,
  gate: Gate,
  info: () => SimulatorInfo & { readonly savedAtMs: number | null },
): HttpRouter {
  const router = new HttpRouter();
  const { settings } = server.network;
  router.on('GET /admin/info', () => {
    const { decryptSample, latencyMs } = settings;
    return { body: { ...info(), decryptSample, latencyMs, sessions: gate.sessions.size } };
  });
  router.on('GET /admin/counters', () => ({ body: server.network.counters }));
  const metrics = makeMetrics(server.network, gate);
  router.on('GET /metrics', async () => ({ type: metrics.contentType, body: await metrics.metrics() }));
  router.on('POST /admin/restart-sockets', () => ({ body: { closed: gate.cutAll() } }));
  router.on('GET /pictures/:file', ({ params: { file = '' } }) => {
    const name = file.replace('.png', '');
    const { accounts, groups } = server.network;
    const picture = accounts.find(name)?.picture ?? groups.find(`${name}@g.us`)?.picture;
    return { type: picture ? 'image/jpeg' : 'image/png', body: picture ?? drawPicture(file) };
  });
  addNetworkRoutes(router, server.network, gate);
  router.on('POST /admin/media/expire', ({ query }) => ({
    body: { expired: server.network.media.expire({ areForgotten: query.get('forgotten') === 'true' }) },
  }));
  addPairingRoutes(router, server);
  addPhoneRoutes(router, server);
  addAccountRoutes(router, server);
  addFaultRoutes(router, server);
  return router;
}

function addPairingRoutes(router: HttpRouter, { pairing }: Server): void {
  router.on('POST /admin/mock-phone/scan-qr', async ({ body, query }) => ({
    body: await orRefusal(() => pairing.scanQr(body, readScan(query))),
  }));
  router.on('POST /admin/mock-phone/enter-code', async ({ body }) => {
    const { number, code, addressing } = readCode(body);
    return { body: await orRefusal(() => pairing.enterCode(number, code, addressing)) };
  });
  router.on('POST /admin/mock-phone/refresh-code', async ({ body }) => {
    const { number, isForced } = readRefreshCode(body);
    await orRefusal(async () => pairing.refreshCode(number, isForced));
    return { body: { number } };
  });
}

async function orRefusal<T>(pair: () => Promise<T>): Promise<T> {
  try {
    return await pair();
  } catch (error) {
    throw error instanceof PairingError ? new AdminError(409, error.reason) : error;
  }
}

function addPhoneRoutes(router: HttpRouter, server: Server): void {
  const { network, office } = server;
  router.on('GET /admin/phones', () => ({ body: phonesIn(network) }));
  const person = (name = '') => personIn(network.directory, name);
  router.on('GET /admin/phones/:number', ({ params: { number } }) => ({ body: phoneView(server, person(number)) }));
  router.on('PUT /admin/phones/:number', async ({ params: { number }, body }) => ({
    body: await changePhone(server, person(number), readPhone(body)),
  }));
  router.on('GET /admin/phones/:number/messages', ({ params: { number } }) => ({
    body: messagesOf(network, person(number)),
  }));
  router.on('POST /admin/phones/:number/messages', async ({ params: { number }, body }) => {
    const { to, id, addressing, phoneOnly, ...draft } = readWrite(body);
    const options = { id, addressing, phoneOnly };
    return { status: 201, body: await office.writer.compose(person(number), to, draft, options) };
  });
  router.on('POST /admin/phones/:number/status', async ({ params: { number = '' }, body }) => {
    const { to, text, undecryptable, stanza } = readStatus(body);
    const update = { from: number, to, text, isUndecryptable: undecryptable, tag: stanza };
    return { status: 201, body: { id: await postStatus(network, update) } };
  });
  router.on('POST /admin/phones/:number/reinstall', ({ params: { number = '' } }) => {
    network.phones.reinstall(number);
    announceIdentity(network, number);
    return { body: { number } };
  });
  router.on('GET /admin/phones/:number/messages/:id/media', ({ params: { number, id = '' } }) => {
    const rows = messagesOf(network, person(number)).filter((row) => row.id === id);
    const media = rows.map((row) => office.phones.files.open(row)).find((each) => each !== undefined);
    if (!media) throw new AdminError(404, 'no such file');
    return { type: media.mimeType, body: media.bytes };
  });
  router.on('GET /admin/deliveries', ({ query }) => ({
    body: deliveriesFrom(network, query.get('from') ?? undefined),
  }));
}

function addAccountRoutes(router: HttpRouter, { network, office }: Server): void {
  router.on('GET /admin/accounts', () => ({
    body: [...network.accounts.all()].map((each) => accountView(network, each)),
  }));
  router.on('PUT /admin/accounts/:number', async ({ params: { number = '' }, body }) => {
    const { restrictions, addressing, backlog, ...plain } = readAccount(body);
    const account = network.accounts.ensure(number);
    Object.assign(account, plain);
    if (backlog !== undefined) changeBacklog(office, account, backlog);
    if (addressing !== undefined) await changeAddressing(network, office, account, addressing);
    if (restrictions !== undefined) {
      account.restrictions = restrictions;
      announceRestrictions(network, account);
    }
    return { body: accountView(network, account) };
  });
  router.on('GET /admin/groups', () => ({ body: [...network.groups.all()].map(groupView) }));
  router.on('POST /admin/accounts/:number/stream-error', ({ params: { number = '' }, body }) => {
    const { code } = readStreamError(body);
    const connected = [...(network.accounts.find(number)?.devices.values() ?? [])].filter((each) => each.connection);
    for (const device of connected) device.connection?.endStream(code);
    return { body: { number, closed: connected.length } };
  });
  router.on('DELETE /admin/accounts/:number/devices/:device', ({ params: { number = '', device = '' } }) => {
    if (!unlinkDevice(network, number, Number(device))) throw new AdminError(404, 'no such device');
    return { body: { number, device: Number(device) } };
  });
}

function changeBacklog(office: Server['office'], account: Account, rules: Partial<BacklogRules>): void {
  const wasHistoryWithheld = account.backlog.isHistoryWithheld;
  Object.assign(account.backlog, rules);
  const isHistoryDue = wasHistoryWithheld && !account.backlog.isHistoryWithheld;
  const isNew = (device: LinkedDevice) => isHistoryDue && device.connection && !device.introduced;
  for (const device of account.devices.values()) if (isNew(device)) void office.writer.introduce(device);
  for (const { mailbox } of account.devices.values()) mailbox.isHeldBack = account.backlog.isWithheld;
}

function addFaultRoutes(router: HttpRouter, { network }: Server): void {
  const { faults, settings } = network;
  const view = () => ({ body: { latencyMs: settings.latencyMs, rules: faults.list() } });
  router.on('GET /admin/faults', view);
  router.on('PUT /admin/faults', ({ body }) => {
    const given = readFaults(body);
    const { latencyMs, rules } = Array.isArray(given) ? { rules: given } : { latencyMs: undefined, ...given };
    if (latencyMs !== undefined) settings.latencyMs = latencyMs;
    if (rules !== undefined) faults.replace(rules);
    return view();
  });
  router.on('POST /admin/faults', ({ body }) => ({ status: 201, body: faults.add(readFaultRule(body)) }));
  router.on('DELETE /admin/faults', () => {
    faults.clear();
    settings.latencyMs = 0;
    return view();
  });
  router.on('DELETE /admin/faults/:id', ({ params: { id = '' } }) => {
    if (!faults.remove(id)) throw new AdminError(404, 'no such rule');
    return view();
  });
}
