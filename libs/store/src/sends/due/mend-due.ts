import { type DeviceAddress, deviceOfName, type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { PRIORITIES, type Priority } from '@gateway/contracts/jobs';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { defineScript, text } from '../../core/scripts/define-script.js';
import { words } from '../../core/scripts/replies.js';
import { type Store, writeAlways } from '../../core/store.js';
import { type OpenPlace, pageOpenSends } from '../open-sends.js';

const findUnsettledStep = defineScript({
  name: 'find-unsettled',
  whenFull: 'runs',
  keys: ['devices'],
  args: { shardBase: text },
  reply: words,
});

/** So many open sends are looked at in one step. */
const PAGE = 100;

/**
 * Makes due at once what is in no due index, although it is open, or has files to release: the index was lost, or an entry of it
 * in a failover. What is there already stays as it is. Yields after each page how many were missing. Safe to repeat, and beside
 * stewards and owners: an entry for what has ended meanwhile leaves the index when it is served.
 */
export async function* mendDue(store: Store, shard: number, nowMs: number): AsyncGenerator<number> {
  const { base, devices, due } = shardKeys(store.space, shard);
  const add = async (entries: readonly string[]) =>
    Number(await writeAlways(store, 'ZADD', due, 'NX', ...entries.flatMap((entry) => [nowMs, entry])));
  const found = await findUnsettledStep(store, { devices, shardBase: base });
  for (let i = 0; i + 2 < found.length; i += 3) {
    const name = found[i]!;
    if (Number(found[i + 2]) === 1) yield await add([name]);
    if (Number(found[i + 1]) === 0) continue;
    for await (const messageIds of pagesOf(store, deviceOfName(name))) {
      const tags = messageIds.flatMap((messageId) => parseMessageId(messageId)?.tag ?? []);
      if (tags.length > 0) yield await add(tags.map((tag) => `${name}/${tag}`));
    }
  }
}

async function* pagesOf(store: Store, address: DeviceAddress): AsyncGenerator<MessageId[]> {
  for (const priority of Object.keys(PRIORITIES) as Priority[]) {
    let after: OpenPlace | undefined;
    do {
      const page = await pageOpenSends(store, address, { priority, after, limit: PAGE });
      yield page.messageIds;
      after = page.next;
    } while (after !== undefined);
  }
}
