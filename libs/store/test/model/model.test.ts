import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import { expect } from 'chai';
import fc from 'fast-check';
import { anySequence } from './any-events.js';
import { NEW_DEVICE, step } from './device-model.js';
import type { ModelEvent } from './events.js';
import { runModel } from './run-model.js';

const SEED = 1;
const LEGAL_MOVES: Record<RecipientStatus, readonly RecipientStatus[]> = {
  queued: ['sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'],
  sent: ['delivered', 'read', 'failed'],
  delivered: ['read'],
  expired: ['delivered', 'read'],
  ...{ read: [], failed: [], cancelled: [] },
};

describe('the model test', () => {
  it('comes to every status from each that may be before it, and to every answer of a claim, also when accounts change', () => {
    const seen = new Set<string>();
    for (const events of fc.sample(anySequence, { seed: SEED, numRuns: 500 })) noteAll(events, seen);
    for (const [from, moves] of Object.entries(LEGAL_MOVES)) {
      for (const to of moves) expect(seen).to.include(`${from} to ${to}`);
    }
    for (const answer of ['claimed', 'settled', 'expired', 'fenced']) expect(seen).to.include(`claim ${answer}`);
    expect(seen).to.include('accept otherAccount');
  });

  it('finds a store that does something else, and says by which events, and how to meet it again', async () => {
    const withoutCancel: typeof step = (device, event) =>
      event.do === 'cancel' ? { device, reply: 0 } : step(device, event);
    const found = String(await runModel({ seed: SEED, sequences: 25, model: withoutCancel }).catch(String));
    expect(found).to.include('the reply to cancel differs').and.include(`MODEL_SEED=${SEED} `);
    const events = found.split('\n').filter((line) => line.startsWith('  {"do":'));
    expect(events.length).to.be.within(3, 5);
    expect(events.at(-1)).to.include('"cancel"');
  });
});

function noteAll(events: readonly ModelEvent[], seen: Set<string>): void {
  let device = NEW_DEVICE;
  for (const event of events) {
    const { device: after, reply } = step(device, event)!;
    if (event.do === 'claim') seen.add(`claim ${reply}`);
    if (event.do === 'accept') seen.add(`accept ${reply}`);
    device.sends.forEach(({ recipients, stage }, send) => {
      seen.add(`${stage} to ${after.sends[send]!.stage}`);
      recipients.forEach(({ status }, recipient) => {
        seen.add(`${status} to ${after.sends[send]!.recipients[recipient]!.status}`);
      });
    });
    device = after;
  }
}
