import type { Account } from '../accounts/account.js';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Group } from '../groups/group.js';
import type { Network } from '../network/network.js';

/** An account with its linked clients, without keys. */
export function accountView({ directory }: Network, account: Account): object {
  const {
    number,
    pushName,
    business,
    passkey,
    backlog,
    addressing,
    tokensRequired,
    hasSalt,
    saltIn,
    props,
    restrictions,
    devices,
  } = account;
  const jids = { jid: directory.jidOf(number, 'pn'), lid: directory.jidOf(number, 'lid') };
  const state = {
    pushName,
    business,
    passkey,
    backlog,
    addressing,
    tokensRequired,
    hasSalt,
    saltIn,
    props,
    restrictions,
  };
  return { number, ...jids, ...state, devices: [...devices.values()].map(deviceView) };
}

function deviceView(device: LinkedDevice): object {
  const { id, platform, linkedAtMs, logins, available } = device;
  const connected = device.connection !== undefined;
  return {
    id,
    platform,
    linkedAtMs,
    connected,
    available,
    logins,
    waiting: device.mailbox.size,
    preKeys: device.preKeys.count,
  };
}

/** A group with its members and their roles. */
export function groupView({ jid, subject, creator, members, inviteCode }: Group): object {
  const people = [...members].map(([number, role]) => ({ number, role: role ?? null }));
  return { jid, subject, creator, inviteCode, members: people };
}
