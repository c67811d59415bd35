import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import { putBlob } from '@gateway/store/blobs/blobs';
import type { Store } from '@gateway/store/core/store';
import { askOwner } from '@gateway/store/devices/questions/owner-questions';
import { countRequestOfAddress } from '@gateway/store/limits/count-request';
import { takeBacklog } from '@gateway/store/limits/take-backlog';
import { findRepeat } from '@gateway/store/sends/accepting/idempotency';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { createWebhook } from '@gateway/store/webhooks/webhooks';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { ADDRESS, HOUR_MS } from './full-redis.js';

/** By their scripts, all ways in which something new comes into a Redis that has room so far. */
export async function attemptsOn(
  store: Store,
  accept: () => Promise<unknown>,
): Promise<Record<string, () => Promise<unknown>>> {
  const { workspace } = ADDRESS;
  const { prefix } = store.space;
  const target = { url: 'https://example.com/', headers: {} };
  const made = { settings: DEFAULT_WEBHOOK_SETTINGS, target, secrets: [{ secret: 'whsec_x' }] };
  const webhook = await createWebhook(store, workspace, made);
  if (webhook === 'full') throw new Error('full');
  await setWorkspaceLimits(store, workspace, { backlog: 2 });
  const repeat = { owner: 't', callersKey: 'new', address: ADDRESS };
  // What is there, for a set of holders.
  const { devices } = workspaceKeys(store.space, workspace);
  return {
    'count-address': () => countRequestOfAddress(store, `${prefix}:limit`),
    'create-webhook': () => createWebhook(store, workspace, made),
    'accept-send': accept,
    'replay-webhook': () => replayWebhook(store, { workspace, id: webhook.id }, { afterMs: 1, beforeMs: 2 }, 3),
    'take-backlog': () => takeBacklog(store, { workspace, messages: 1, room: 2, knownAtMs: 1, nowMs: 1 }),
    'ask-owner': () => askOwner(store, ADDRESS, { id: 'new', question: { kind: 'session' } }),
    'place-repeat': () => findRepeat(store, { ...repeat, isBound: false }),
    'claim-repeat': () => findRepeat(store, { ...repeat, isBound: true }),
    'close-repeat': () => store.run('close-repeat', [`${prefix}:{main}:closed`, devices], [HOUR_MS]),
    'write-chunk': () => store.run('write-chunk', [`${prefix}:{main}:chunk`, devices], ['bytes', Date.now() + HOUR_MS]),
    'reserve-blob': () =>
      putBlob(store, workspace, { bytes: Buffer.from('file'), nowMs: Date.now(), quotaBytes: 1_000 }),
  };
}
