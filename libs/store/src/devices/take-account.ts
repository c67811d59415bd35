import { deviceKeys } from '@gateway/contracts/redis-keys';
import { bytes, defineScript, number, text } from '../core/scripts/define-script.js';
import { nothing } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';
import { cancelSend } from '../sends/change-send.js';
import { listOpenSends } from '../sends/open-sends.js';
import { readSend } from '../sends/read-send.js';
import { hasIdKey, readDevice, sealIdKey } from './devices.js';

const changeAccount = defineScript({
  name: 'change-account',
  whenFull: 'runs',
  isFenced: true,
  keys: ['device', 'receivedTimes'],
  args: { account: text, nowMs: number, idKey: bytes },
  reply: nothing,
});

/**
 * Remembers which account is linked from now on; whether it is another than before. Then nothing that was accepted before goes out
 * any more, for it was meant to come from the account before, and what that one received cannot be quoted. The same when the key of
 * the platform ids cannot be opened any more: there is another from now on, so nothing of before may be attempted again. One step
 * says so, and what is written down for the account before ends wherever it is found; what is open is ended here, so that it
 * counts no more as a backlog. Throws `FencedError` for a stale owner, and `UnknownVersionError`, having changed nothing, for an
 * open send that may not know of accounts.
 */
export async function takeAccount(
  store: Store,
  ownership: Ownership,
  { phone, nowMs }: { phone: string; nowMs: number },
): Promise<{ isOther: boolean }> {
  const { address } = ownership;
  const before = (await readDevice(store, address))?.account;
  const hasIds = await hasIdKey(store, address);
  if (before === phone && hasIds) return { isOther: false };
  const isOther = before !== undefined && before !== phone;
  const former = isOther || !hasIds ? await listOpenSends(store, address) : [];
  await Promise.all(former.map((messageId) => readSend(store, address, messageId)));
  const { device, receivedTimes } = deviceKeys(store.space, address);
  const idKey = hasIds ? '' : sealIdKey(store, address);
  await changeAccount(store, ownership, { device, receivedTimes, account: phone, nowMs, idKey });
  for (const messageId of former) await cancelSend(store, address, messageId, { nowMs });
  return { isOther };
}
