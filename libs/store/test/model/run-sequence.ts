import assert from 'node:assert/strict';
import type { DeviceAddress } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { NEW_DEVICE, step } from './device-model.js';
import { type ModelEvent, TTL_STEP_MS } from './events.js';
import { Invariants } from './invariants.js';
import type { Send } from './send-model.js';
import { describeModel } from './snapshot.js';
import { StoreAdapter } from './store-adapter.js';

/** A day and some minutes on everything has ended. */
const END: readonly ModelEvent[] = [
  { do: 'lapse' },
  { do: 'acquire', ttlMs: TTL_STEP_MS },
  { do: 'pass', ms: 25 * 3_600_000 },
  { do: 'expire', by: 'steward' },
  { do: 'pass', ms: 11 * 60_000 },
];

/** There is room for it if what has ended is counted right: all of that is forgotten for it. Then it ends, too. */
const LAST: readonly ModelEvent[] = [
  { do: 'accept', room: 'none', kind: 'text', parts: 1, people: [0], expiresInMs: 60_000 },
  { do: 'pass', ms: 60_000 },
  { do: 'expire', by: 'steward' },
];

/**
 * Lets the same happen to the model and to a device of its own in the store. Rejects at the first difference; resolves with
 * all sends of the device.
 */
export async function runSequence(
  store: Store,
  address: DeviceAddress,
  events: readonly ModelEvent[],
  model = step,
): Promise<readonly Send[]> {
  const adapter = await StoreAdapter.open(store, address);
  const invariants = new Invariants();
  let device = NEW_DEVICE;
  await adapter.look();
  const advance = async (event: ModelEvent) => {
    const expected = model(device, event);
    if (!expected) return undefined;
    const reply = await adapter.carryOut(event);
    mustEqual(reply, expected.reply, `the reply to ${event.do}`);
    device = expected.device;
    return { reply };
  };
  const compare = async (after?: ModelEvent) => {
    const seen = await adapter.look(after && { after });
    mustEqual(seen, describeModel(device), `what is there after ${after?.do ?? 'the end'}`);
    return seen;
  };
  for (const event of events) {
    const happened = await advance(event);
    if (happened) invariants.check(event, happened.reply, await compare(event));
  }
  for (const event of END) await advance(event);
  Invariants.checkEnd(await compare());
  for (const event of LAST) await advance(event);
  return device.sends;
}

function mustEqual(ofStore: unknown, ofModel: unknown, what: string): void {
  try {
    assert.deepEqual(ofStore, ofModel);
  } catch (thrown) {
    throw new Error(`${what} differs (+ store, - model)\n${thrown instanceof Error ? thrown.message : thrown}`);
  }
}
