import assert from 'node:assert/strict';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import type { Store } from '@gateway/store/core/store';
import { readTotals } from '@gateway/store/sends/read-totals';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import fc from 'fast-check';
import { anySequence } from './any-events.js';
import { step } from './device-model.js';
import type { ModelEvent } from './events.js';
import { runSequence } from './run-sequence.js';
import type { Send } from './send-model.js';
import { findKeysLeft } from './store-adapter.js';

/** One seed makes so many sequences: small enough to be run again with that seed. */
const BATCH = 25;
/** They wait for Redis in turn. */
const BATCHES_AT_ONCE = 40;
/** After so many the keys of all are removed. */
const ROUND = 2_000;

interface Batch {
  seed: number;
  sequences: number;
}

/**
 * Compares so many random sequences with the store. Rejects with the shortest sequence that it found to differ, and how to
 * run it again.
 */
export async function runModel({
  seed,
  sequences,
  model = step,
}: {
  seed: number;
  sequences: number;
  model?: typeof step;
}): Promise<void> {
  const batches = Array.from({ length: Math.ceil(sequences / BATCH) }, (_, i) => ({
    seed: seed + i,
    sequences: Math.min(BATCH, sequences - i * BATCH),
  }));
  for (let from = 0; from < batches.length; from += ROUND / BATCH) {
    await runRound(batches.slice(from, from + ROUND / BATCH), model);
  }
}

async function runRound(batches: Batch[], model: typeof step): Promise<void> {
  const space = await openRedisSpace();
  const sends: Send[] = [];
  try {
    const work = batches.values();
    await Promise.all(
      Array.from({ length: BATCHES_AT_ONCE }, async () => {
        for (const batch of work) sends.push(...(await runBatch(space.store, batch, model)));
      }),
    );
    await checkTotals(space.store, sends);
    const left = await findKeysLeft(space.store);
    if (left.length > 0) throw new Error(`keys are left for ever when all sends have ended: ${left.slice(0, 3)}`);
  } finally {
    await space.close();
  }
}

async function runBatch(store: Store, { seed, sequences }: Batch, model: typeof step): Promise<Send[]> {
  let runs = 0;
  const sends: Send[] = [];
  const property = fc.asyncProperty(anySequence, async (events) => {
    sends.push(...(await runSequence(store, { workspace: `w${seed}-${runs++}`, device: 'phone' }, events, model)));
  });
  const found = await fc.check(property, { seed, numRuns: sequences });
  if (found.failed) throw new Error(describeFailure(seed, found.counterexample![0], found.errorInstance));
  return sends;
}

/** What is counted in Redis is what became of all recipients, and all who were accepted have one status each. */
async function checkTotals(store: Store, sends: readonly Send[]): Promise<void> {
  const { kinds, errors } = await readTotals(store);
  const all = sends.flatMap(({ kind, recipients }) => recipients.map((recipient) => ({ ...recipient, kind })));
  for (const kind of ['text', 'otp'] as const) {
    const ofKind = all.filter((each) => each.kind === kind);
    for (const status of RECIPIENT_STATUSES) {
      const count = ofKind.filter((each) => each.status === status).length;
      assert.equal(kinds[kind].now[status], count, `the total of ${kind} that is ${status}`);
    }
    const { queued, delivered, read } = kinds[kind].reached;
    const { delivered: isDelivered, read: isRead } = kinds[kind].now;
    assert.deepEqual({ delivered, read }, { delivered: isDelivered + isRead, read: isRead }, `what ${kind} came to`);
    assert.equal(queued, ofKind.length, `the total of ${kind} that was accepted`);
  }
  const failed = all.filter(({ status }) => status === 'failed').length;
  const counted = [...errors.values()].reduce((sum, count) => sum + count, 0);
  assert.equal(counted, failed, 'the total of failures by error');
}

function describeFailure(seed: number, events: readonly ModelEvent[], error: unknown): string {
  const lines = events.map((event) => `  ${JSON.stringify(event)},`);
  return [
    String(error instanceof Error ? error.stack : error),
    `Again: MODEL_SEED=${seed} MODEL_SEQUENCES=${BATCH}. The shortest sequence:`,
    ...lines,
  ].join('\n');
}
