import type { Account } from '../accounts/account.js';
import { messageCapping, reachoutTimelock } from '../accounts/restrictions-view.js';
import type { Network } from '../network/network.js';
import { node, SERVER, stamp } from '../wire/nodes.js';

/** Tells an account's clients what it may do from now on, as the network does when it restricts an account. */
export function announceRestrictions(network: Network, account: Account): void {
  const nowMs = network.now();
  const news = {
    NotificationUserReachoutTimelockUpdate: {
      xwa2_notify_account_reachout_timelock: reachoutTimelock(account, nowMs),
    },
    MessageCappingInfoNotification: {
      xwa2_notify_new_chat_messages_capping_info_update: messageCapping(account, nowMs),
    },
  };
  for (const [operation, data] of Object.entries(news)) {
    const attrs = { from: SERVER, type: 'mex', id: `${operation}-${nowMs}`, t: stamp(nowMs) };
    const update = node('update', { op_name: operation }, Buffer.from(JSON.stringify({ data })));
    for (const device of account.devices.values()) device.mailbox.post(node('notification', attrs, [update]));
  }
}
