import { platformIds } from '@gateway/contracts/sends/platform-id';
import type { HeldDevice } from '@gateway/fleet/session-keeper';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { Verdicts } from '@gateway/sender/dispatching/verdicts';
import { FirstContactHold } from '@gateway/sender/holding/first-contact-hold';
import { loadSend } from '@gateway/sender/preparing/load-send';
import { TakeIns } from '@gateway/sender/preparing/take-ins';
import { FailureLines } from '@gateway/sender/reporting/failure-lines';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import type { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { claimRecipient } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { expect } from 'chai';
import { ADDRESS, useHoldStage } from './support/hold-stage.js';
import { takeReady } from './support/take.js';

describe('a stranger whom the network refuses, and knows of no restriction', () => {
  const { stage, attached } = useHoldStage();
  const logger = createLogger({ service: 'test', level: 'error' });
  const metrics = createSenderMetrics(createMetrics(), () => ({}));
  let send: SendProgress;
  let verdicts: Verdicts;
  let hold: ReturnType<typeof attached>;

  beforeEach(async () => {
    const { store, ownership } = stage;
    const nowMs = Date.now();
    stage.nowMs = nowMs;
    const clock = { nowMs: () => stage.nowMs, monotonicMs: () => stage.nowMs };
    const { messageId } = await acceptSend(store, ADDRESS, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['4917'] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 3_600_000 },
    });
    const deps = {
      store,
      ownership: ownership as HeldDevice,
      clock,
      logger,
      metrics,
      ids: platformIds(Buffer.alloc(16, 7)),
      memory: new MemoryBudget(),
    };
    send = (await loadSend({ ...deps, takeIns: new TakeIns(deps) }, messageId, {})) as SendProgress;
    hold = attached();
    verdicts = new Verdicts({
      ...{ ...deps, hold, results: new ResultWriter(deps), failures: new FailureLines(logger) },
      firstContacts: new FirstContactHold({ clock, logger, onHeld: () => {}, onLifted: () => {}, onMet: () => {} }),
      preparation: { holdBack: () => Promise.reject(new Error('nothing is restricted')) },
    });
  });
  afterEach(() => hold.stop());

  async function refuse({ isAnnounced = false } = {}): Promise<'queued' | 'failed'> {
    const { store, ownership } = stage;
    // The pause of the attempt before is over.
    stage.nowMs += 60_000;
    if (isAnnounced) hold.hasNews();
    send.addReady(send.takeForLookUp(1, stage.nowMs).map(({ index }) => index));
    const item = takeReady(send)!;
    await claimRecipient(store, ownership, { tag: send.tag, recipient: 0, part: 0, nowMs: stage.nowMs });
    await verdicts.settle(item, { kind: 'restricted', code: 463 });
    const { counts } = (await readSend(store, ADDRESS, send.messageId))!;
    return counts.failed === 1 ? 'failed' : 'queued';
  }

  it('fails at the second time', async () => {
    expect([await refuse(), await refuse()]).to.deep.equal(['queued', 'failed']);
  });

  it('is tried once more when the network has announced a change of its limits a moment before', async () => {
    await refuse();
    expect(await refuse({ isAnnounced: true })).to.equal('queued');
    expect(await refuse(), 'that was long ago').to.equal('failed');
  });
});
