import { KIND_CODES, type SendKind } from '@gateway/contracts/content/message-content';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { unpackHead, unpackTexts } from '@gateway/contracts/sends/packed-send';
import { defineScript, mixed, text } from '../../core/scripts/define-script.js';
import type { Store } from '../../core/store.js';
import { readSendByTag, type SendRecord } from '../read-send.js';
import { byShard, type ListedSend } from './listed-sends.js';

const pickStep = defineScript({
  name: 'pick-sends',
  whenFull: 'runs',
  repliesBytes: true,
  keys: ['...records'],
  args: { kind: mixed, owner: text },
  reply: (reply) => reply as (number | Buffer)[],
});

/** Of one step: Redis is free again within a fraction of a millisecond. A command for each would cost the caller ten times as much. */
const SENDS_PER_STEP = 50;

export interface PickedSend extends ListedSend {
  send: SendRecord;
}

/** Those of the sends that are still there, of that kind and that token, in their order. */
export async function readListedSends(
  store: Store,
  listed: readonly ListedSend[],
  filter: { kind?: SendKind | undefined; owner?: string | undefined },
): Promise<PickedSend[]> {
  const picked = (await Promise.all(stepsOf(listed).map((some) => pick(store, some, filter)))).flat();
  const epochOf = await readEpochs(store, picked);
  const current = await Promise.all(
    picked.map(async (each) => {
      if (each.send.state !== 'open' || each.send.accountEpoch === epochOf(each.address)) return each;
      const send = await readSendByTag(store, each.address, each.tag);
      return send && { ...each, send };
    }),
  );
  const found = new Map(current.flatMap((each) => (each ? [[`${each.address.device}/${each.tag}`, each]] : [])));
  return listed.flatMap(({ address, tag }) => found.get(`${address.device}/${tag}`) ?? []);
}

function stepsOf(listed: readonly ListedSend[]): ListedSend[][] {
  return [...byShard(listed).values()].flatMap((sends) =>
    Array.from({ length: Math.ceil(sends.length / SENDS_PER_STEP) }, (_, step) =>
      sends.slice(step * SENDS_PER_STEP, (step + 1) * SENDS_PER_STEP),
    ),
  );
}

async function pick(
  store: Store,
  sends: readonly ListedSend[],
  { kind, owner }: { kind?: SendKind | undefined; owner?: string | undefined },
): Promise<PickedSend[]> {
  const records = sends.map(({ address, tag }) => sendKeys(store.space, address, tag).record);
  const pairs = await pickStep(store, {
    records,
    kind: kind === undefined ? '' : KIND_CODES[kind],
    owner: owner ?? '',
  });
  return Array.from({ length: pairs.length / 2 }, (_, i) => {
    const [listed, bytes] = [sends[pairs[2 * i] as number]!, pairs[2 * i + 1] as Buffer];
    return { ...listed, send: { tag: listed.tag, ...unpackHead(bytes), ...unpackTexts(bytes, bytes) } };
  });
}

/** Of the devices with open sends. */
async function readEpochs(store: Store, picked: readonly PickedSend[]): Promise<(address: DeviceAddress) => number> {
  const open = picked.filter(({ send }) => send.state === 'open');
  const keys = [...new Set(open.map(({ address }) => deviceKeys(store.space, address).device))];
  const epochs = await Promise.all(keys.map((key) => store.redis.hget(key, 'accountEpoch')));
  const known = new Map(keys.map((key, i) => [key, Number(epochs[i] ?? 0)]));
  return (address) => known.get(deviceKeys(store.space, address).device)!;
}
