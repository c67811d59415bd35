import { listDevices as listDeviceIds } from '@gateway/store/devices/devices';
import { readHistory } from '@gateway/store/devices/read-history';
import Joi from 'joi';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { type Call, operation } from '../../http/operation.js';
import { readCommon, readDeviceView, readListedView, showTo } from '../../views/device-view.js';
import { deviceOf } from './device-of.js';

export const listDevices = operation({
  method: 'get',
  path: '/devices',
  for: 'viewer',
  async handle({ user }, deps) {
    const { store, workspace } = deps;
    const [ids, common] = await Promise.all([listDeviceIds(store, workspace), readCommon(deps)]);
    const views = await Promise.all(ids.map((device) => readListedView(store, { workspace, device }, common)));
    return { body: { devices: views.filter((view) => view !== undefined).map((view) => showTo(user.role, view)) } };
  },
});

/** `null` for one that was never made: its page links an account, which makes it. */
export const showDevice = operation({
  method: 'get',
  path: '/devices/:device',
  for: 'viewer',
  async handle({ user, params }, deps) {
    const address = { workspace: deps.workspace, device: deviceOf(params) };
    const view = await readDeviceView(deps.store, address, await readCommon(deps));
    return { body: { device: view ? showTo(user.role, view) : null } };
  },
});

/** Its last changes of status or reason, the newest first. */
export const showHistory = operation({
  method: 'get',
  path: '/devices/:device/history',
  for: 'viewer',
  async handle({ params }, { store, workspace }) {
    return { body: { history: await readHistory(store, { workspace, device: deviceOf(params) }) } };
  },
});

interface ConnectBody {
  method: 'qrCode' | 'pairingCode';
  phoneNumber?: string;
  forceNew: boolean;
}

/** Asks the API for a link, which makes the device if there is none; the code is in what `device.<id>` tells live. */
export const connectDevice = operation<ConnectBody>({
  method: 'post',
  path: '/devices/:device/connect',
  for: 'operator',
  body: Joi.object({
    method: Joi.string().valid('qrCode', 'pairingCode').default('qrCode'),
    phoneNumber: Joi.string().max(40),
    forceNew: Joi.boolean().default(false),
  }),
  async handle(call, deps) {
    const { method, phoneNumber, forceNew } = call.body;
    const query = new URLSearchParams({
      ...{ method, forceNew: String(forceNew), rawQrCode: 'true' },
      ...(phoneNumber !== undefined && { phoneNumber }),
    });
    const { status } = await callApi(call, deps, `/connect?${query}`);
    return { body: { status }, audit: { action: 'device.link_asked', target: deviceOf(call.params) } };
  },
});

export const disconnectDevice = operation({
  method: 'post',
  path: '/devices/:device/disconnect',
  for: 'operator',
  async handle(call, deps) {
    const { message } = await callApi(call, deps, '/disconnect');
    return { body: { message }, audit: { action: 'device.disconnected', target: deviceOf(call.params) } };
  },
});

function callApi({ user, params, requestId, signal }: Call<unknown>, { api }: DashboardDeps, path: string) {
  return api.call({ user: user.name, device: deviceOf(params), method: 'POST', path, requestId, signal });
}
