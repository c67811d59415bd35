import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import {
  claimDelivery,
  postponeReplay,
  settleDelivery,
  takeWebhook,
  warnOfWebhook,
} from '@gateway/store/webhooks/delivering/deliveries';
import { endLongWaits, readDue, readParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parked/parking-key';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { forgetInAttempts, recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook, deleteWebhook, pauseWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';

/** Makes an endpoint, fills Redis, and does all else that is done with one, to its deletion. */
export async function useWebhook(store: Store, fill: () => Promise<unknown>): Promise<void> {
  const target = { url: 'https://example.com/', headers: {} };
  const wanted = { settings: DEFAULT_WEBHOOK_SETTINGS, target, secrets: [{ secret: 'whsec_x' }] };
  const made = await createWebhook(store, 'main', wanted);
  if (made === 'full') throw new Error('full');
  const place = { workspace: 'main', id: made.id };
  for (const afterMs of [1, 2]) await replayWebhook(store, place, { afterMs, beforeMs: 3 }, 3);
  await fill();
  const { revision } = made;
  // As for one that the version before has made.
  await store.redis.del(workspaceKeys(store.space, 'main').parkingKey);
  const parkingKey = await readParkingKey(store, 'main', made.id);
  expect(await readParkingKey(store, 'main', made.id)).to.deep.equal(parkingKey);
  const attempt = { webhookId: 'evt_1', atMs: Date.now(), tookMs: 1, status: 200, error: null, answer: '' };
  expect(await recordAttempt(store, 'main', made.id, { attempt, verifiesRevision: revision })).to.equal('active');
  const taken = await takeWebhook(store, place, { processId: 'process-1', sessionMs: 60_000 });
  if (typeof taken === 'string') throw new Error(taken);
  const lane = 'prompt' as const;
  const event = { entry: '1-1', id: 'evt_1', type: 'send.finished' };
  const changes = ['a', 'b'].map((key) => ({ what: 'add', key, event }) as const);
  const claimed = { cursor: '1-0', claim: { to: '2-0', refusals: 0 } };
  expect(await claimDelivery(store, taken, { lane, state: claimed, changes, nowMs: 1 })).to.equal(true);
  const outcome = { status: 'active', breaker: {} } as const;
  const settled = {
    ...{ lane, state: { cursor: '2-0' }, nowMs: 2 },
    changes: [
      { what: 'add', key: 'b', event },
      { what: 'drop', key: 'b', count: 1 },
      { what: 'wait', key: 'a', clock: { failures: 1, nextAttemptMs: 9 } },
      { what: 'lose', count: 1 },
    ],
  } as const;
  expect(await settleDelivery(store, taken, settled, { attempt, outcome })).to.equal(true);
  expect(await readDue(store, taken, { nowMs: 2, most: 9 })).to.deep.equal([{ key: 'b', clock: {}, events: [event] }]);
  expect(await readParked(store, taken, ['a'])).to.deep.equal([
    { key: 'a', clock: { failures: 1, nextAttemptMs: 9 }, events: [event] },
  ]);
  const keysDue = async () => (await readDue(store, taken, { nowMs: 2, most: 9 })).map(({ key }) => key);
  await endLongWaits(store, taken, { nowMs: 2, longestMs: 9 });
  expect(await keysDue()).to.deep.equal(['b']);
  await endLongWaits(store, taken, { nowMs: 2, longestMs: 8 });
  expect(await keysDue()).to.deep.equal(['b', 'a']);
  const ended = { lane: 'replay', state: undefined, nowMs: 3 } as const;
  expect(await claimDelivery(store, taken, { ...ended, state: { cursor: '1-0' } })).to.equal(true);
  expect(await claimDelivery(store, taken, ended)).to.equal(true);
  const next = await takeWebhook(store, place, { processId: 'process-1', sessionMs: 60_000 });
  if (typeof next === 'string') throw new Error(next);
  expect(await claimDelivery(store, next, { ...ended, state: { cursor: '1-0' } })).to.equal(true);
  expect(await postponeReplay(store, next)).to.equal('alone');
  expect(await claimDelivery(store, next, ended)).to.equal(true);
  const failing = { status: 'failing', breaker: { failures: 1, sinceMs: 1 } } as const;
  const failed = { ...settled, changes: [], state: { cursor: '3-0' } };
  expect(await settleDelivery(store, taken, failed, { attempt, outcome: failing })).to.equal(true);
  const breaker = { ...failing.breaker, told: 1 };
  expect(await warnOfWebhook(store, taken, { breaker, last: attempt, nowMs: 3 })).to.equal(true);
  expect(await forgetInAttempts(store, 'main', new Set(['4915112345678']))).to.equal(0);
  expect(await settleDelivery(store, taken, failed, { attempt }), 'as it was before').to.equal(false);
  const claimedAnew = { lane, state: claimed, nowMs: 4 };
  expect(await claimDelivery(store, taken, claimedAnew), 'of what was read before').to.equal(false);
  const now = await takeWebhook(store, place, { processId: 'process-1', sessionMs: 60_000 });
  if (typeof now === 'string') throw new Error(now);
  expect(await claimDelivery(store, now, claimedAnew)).to.equal(true);
  expect(await pauseWebhook(store, 'main', made.id)).to.include({ status: 'paused' });
  expect(await deleteWebhook(store, 'main', made.id)).to.equal(true);
}
