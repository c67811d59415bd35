import { defaultPace, type Pace } from '@gateway/contracts/devices/pace';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { type DispatchDeps, type Dispatched, dispatchMessage } from '@gateway/sender/dispatching/dispatch-message';
import type { Gate } from '@gateway/sender/dispatching/gate';
import { PacePlaces } from '@gateway/sender/dispatching/pace-places';
import { loadSend } from '@gateway/sender/preparing/load-send';
import { TakeIns } from '@gateway/sender/preparing/take-ins';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import type { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';
import { ADDRESS, useScheduler } from './support/scheduler-stage.js';

const PACE: Pace = { messagesPerMinute: 60, burst: 1, jitter: 0 };
const [ADA, BEN] = ['491517000001', '491517000002'] as const;

describe('dispatching a message', () => {
  const stage = useScheduler();
  let send: SendProgress;
  let list: string;
  /** What happened, in order: steps in Redis, and what the parts around it were told. */
  let order: string[];
  let isRestricted: boolean;
  /** What the spans of its trace count. */
  let counted: { claimed: number; unused: number; answered: number };
  beforeEach(async () => {
    [order, isRestricted, counted] = [[], false, { claimed: 0, unused: 0, answered: 0 }];
    list = await stage.accept([ADA, BEN]);
    send = await load(list);
    stage.steps.between = (step, run) => {
      order.push(step);
      return run();
    };
  });

  /** All of its recipients are looked up. */
  async function load(messageId: string): Promise<SendProgress> {
    const deps = { ...stage, takeIns: new TakeIns(stage), memory: new MemoryBudget() };
    const loaded = (await loadSend(deps, messageId, {})) as SendProgress;
    loaded.addReady(loaded.takeForLookUp(10, 0).map(({ index }) => index));
    return loaded;
  }

  function makeDeps({ pace = defaultPace(0), ...changes }: Partial<DispatchDeps> & { pace?: Pace } = {}): DispatchDeps {
    const { store, ownership, clock, logger, metrics, ids } = stage;
    const pacePlaces = new PacePlaces({ store, ownership, clock, currentPace: () => pace, countReady: () => 1 });
    return {
      ...{ store, ownership, clock, logger, metrics, ids, results: new ResultWriter(stage), onFailed: () => {} },
      ...{ session: stage.makeSession(), pacePlaces: () => pacePlaces },
      hold: {
        get isOn() {
          return isRestricted;
        },
        findKnown: (session, numbers) => session.findAcquainted(numbers),
      },
      firstContacts: { isOn: false },
      distance: { note: () => {}, ms: 0 },
      hasFailed: () => false,
      pick: () => send.nextReady,
      take: (item) => send.take(item),
      preparation: {
        holdBack: async (_send, recipients, reason) => {
          order.push(`hold ${recipients.map(({ index }) => index)} ${reason}`);
          send.hold(recipients.map(({ index }) => index));
        },
      },
      verdicts: {
        settle: async ({ recipient }, { kind }) => {
          order.push(`settle ${kind}`);
          send.settled(recipient);
        },
        notWritten: async ({ recipient }, error) => {
          order.push(`not written: ${error.message}`);
          send.putBack([recipient]);
        },
        unused: async ({ recipient }) => {
          order.push('unused');
          send.putBack([recipient]);
        },
      },
      turns: { take: async () => true, give: () => {} },
      countNews: () => 0,
      spans: {
        claimed: () => void counted.claimed++,
        unused: () => void counted.unused++,
        answered: () => void counted.answered++,
      },
      onAck: ({ kind }) => order.push(`ack ${kind}`),
      onExpired: async () => void order.push('expired'),
      ...changes,
    };
  }
  /** To the end, if it was started. */
  async function dispatch(deps: DispatchDeps): Promise<Dispatched['kind'] | 'not sent' | 'sent'> {
    const dispatched = await dispatchMessage(deps);
    if (dispatched.kind !== 'started') return dispatched.kind;
    const written = await dispatched.writing;
    await written?.settled;
    expect(counted.claimed, 'each claim is answered or given back').to.equal(counted.unused + counted.answered);
    return written ? 'sent' : 'not sent';
  }

  it('goes from its turn to its verdict in this order', async () => {
    expect(await dispatch(makeDeps({ pace: PACE }))).to.equal('sent');
    expect(order).to.deep.equal(['take-pace', 'claim-recipient', 'ack accepted', 'settle accepted']);
    expect(stage.sent.map(({ to }) => to)).to.deep.equal([ADA]);
    expect(stage.sent[0]!.platformId).to.equal(stage.ids.make({ tag: send.tag, recipient: 0, part: 0 }));
  });

  it('is nothing when no recipient is next', async () => {
    expect(await dispatch(makeDeps({ pick: () => undefined }))).to.equal('nothing');
    expect(order).to.deep.equal([]);
  });

  it('leaves the recipient where they are when the pace says later, and for how long', async () => {
    const deps = makeDeps({ pace: PACE });
    await dispatch(deps);
    expect(await dispatchMessage(deps)).to.deep.equal({ kind: 'wait', ms: 1_000 });
    expect(send.nextReady?.to).to.equal(BEN);
    expect(order.filter((step) => step === 'claim-recipient')).to.have.length(1);
    stage.leap(1_000);
    expect(await dispatch(deps)).to.equal('sent');
  });

  it('knows the recipient before the pace is asked: a stranger under a restriction takes no place in it', async () => {
    isRestricted = true;
    stage.network.isAcquainted = (number) => number === BEN;
    const deps = makeDeps({ pace: PACE });
    expect(await dispatch(deps)).to.equal('turnedBack');
    expect(order).to.deep.equal(['hold 0 new_contacts_held']);
    expect(await dispatch(deps)).to.equal('sent');
    expect(stage.sent.map(({ to }) => to)).to.deep.equal([BEN]);
  });

  it('holds who gave no token while the history is awaited', async () => {
    stage.network.isGiver = (number) => number === BEN;
    expect(await dispatch(makeDeps({ firstContacts: { isOn: true } }))).to.equal('turnedBack');
    expect(order).to.deep.equal(['hold 0 awaiting_history']);
    expect(await dispatch(makeDeps({ firstContacts: { isOn: true } }))).to.equal('sent');
  });

  it('has the recipient looked up again when the session ends while the gates are asked', async () => {
    isRestricted = true;
    const session = stage.makeSession();
    session.lose({ kind: 'closedByUs' });
    expect(await dispatch(makeDeps({ session }))).to.equal('turnedBack');
    expect(send.takeForLookUp(10, 0).map(({ to }) => to)).to.deep.equal([ADA]);
    expect(send.nextReady?.to).to.equal(BEN);
    expect(order).to.deep.equal([]);
  });

  it('lets a code go first that comes while the gates are asked, and leaves it its place in the pace', async () => {
    const code = await load(await stage.accept([BEN], { kind: 'otp' }));
    let isThere = false;
    const pacePlaces = { take: async () => 0, putBack: () => void order.push('put back') };
    const gates: Gate[] = [
      async () => {
        isThere = true;
        return { kind: 'pass' };
      },
    ];
    const pick = () => (isThere ? code.nextReady : send.nextReady);
    expect(await dispatch(makeDeps({ gates, pick, pacePlaces: () => pacePlaces }))).to.equal('turnedBack');
    expect(order.slice(-1)).to.deep.equal(['put back']);
    expect(send.nextReady?.to).to.equal(ADA);
  });

  it('claims no recipient who lost their turn while the gates were checked', async () => {
    stage.steps.between = async (step, run) => {
      order.push(step);
      send.forgetLookUps();
      return run();
    };
    expect(await dispatch(makeDeps({ pace: PACE }))).to.equal('turnedBack');
    expect(order).to.deep.equal(['take-pace']);
    expect(send.takeForLookUp(10, 0).map(({ to }) => to)).to.deep.equal([ADA, BEN]);
  });

  it('holds no recipient who lost their turn while the gates were checked', async () => {
    isRestricted = true;
    stage.network.isAcquainted = () => {
      send.forgetLookUps();
      return false;
    };
    expect(await dispatch(makeDeps())).to.equal('turnedBack');
    expect(order).to.deep.equal([]);
  });

  it('claims no recipient whose identity is unknown: they are looked up again', async () => {
    for (const lookUp of [() => ({ exists: false as const }), () => ({ error: 408 })]) {
      stage.network.lookUp = lookUp;
      expect(await dispatch(makeDeps())).to.equal('not sent');
    }
    expect(order).to.deep.equal([]);
    expect(send.takeForLookUp(10, 0).map(({ to }) => to)).to.deep.equal([BEN, ADA]);
  });

  it('asks the opt-outs with the claim, and sends nothing to who is on the list', async () => {
    await addOptOuts(stage.space.store, 'main', { numbers: [ADA], source: 'api', atMs: 1 });
    expect(await dispatch(makeDeps())).to.equal('not sent');
    expect(order.slice(0, 1)).to.deep.equal(['claim-recipient']);
    expect(await stage.statuses(list)).to.deep.equal([`failed ${ownErrorCode('recipient_opted_out')}`, 'queued']);
    expect(stage.sent).to.deep.equal([]);
  });

  it('fails a recipient whom a gate refuses, before anything is claimed', async () => {
    const refuse = async () => ({ kind: 'refuse', error: 'recipient_opted_out' }) as const;
    expect(await dispatch(makeDeps({ gates: [refuse] }))).to.equal('turnedBack');
    expect(order).to.deep.equal(['record-results']);
    expect(await stage.statuses(list)).to.deep.equal([`failed ${ownErrorCode('recipient_opted_out')}`, 'queued']);
    expect(send.nextReady?.to).to.equal(BEN);
  });

  it('gives back a claim that replicas of Redis do not have, and claims none while they are away', async () => {
    let restMs = 0;
    let asked: readonly string[] = [];
    const areKept = async (keys: readonly string[]) => {
      asked = keys;
      return order.push('asked') === 0;
    };
    const since = async () => {
      order.push('since');
      return new Map();
    };
    const claims = { restMs: () => restMs, since, areKept };
    expect(await dispatch(makeDeps({ claims }))).to.equal('not sent');
    expect(order).to.deep.equal(['since', 'claim-recipient', 'asked', 'unused']);
    const { device } = deviceKeys(stage.space.store.space, ADDRESS);
    const { optOutCount } = workspaceKeys(stage.space.store.space, ADDRESS.workspace);
    expect(asked, 'the list of opt-outs may be on another master').to.deep.equal([device, optOutCount]);
    restMs = 500;
    expect(await dispatchMessage(makeDeps({ claims, pace: PACE }))).to.deep.equal({ kind: 'rest', ms: 500 });
    expect(order, 'nor is the pace asked').to.have.length(4);
    send = await load(await stage.accept([BEN], { kind: 'otp' }));
    restMs = 0;
    expect(await dispatch(makeDeps({ claims }))).to.equal('not sent');
    expect(asked, 'of a code nothing is read there').to.deep.equal([device]);
    expect(stage.sent).to.deep.equal([]);
  });

  it('tells why a message was not written', async () => {
    stage.network.answer = () => {
      throw new Error('no room');
    };
    expect(await dispatch(makeDeps())).to.equal('not sent');
    expect(order.at(-1)).to.equal('not written: no room');
  });

  it('skips the part that another owner has settled, and goes on with the next of the same recipient', async () => {
    const file = {
      kind: 'media',
      type: 'sticker',
      mimeType: 'image/webp',
      blob: 'b',
      blobHolder: 'h',
      sizeBytes: 1,
    } as const;
    const content = { ...file, followingText: 'and this' };
    send = await load(await stage.accept([ADA, BEN], { kind: 'media', content, parts: 2 }));
    send.file.upload = { url: '', directPath: '/x', mediaKey: '', fileSha256: '', fileEncSha256: '', atMs: 0 };
    await new ResultWriter(stage).write(send.tag, { recipient: 0, part: 0, event: 'acked' });
    expect(await dispatch(makeDeps())).to.equal('not sent');
    expect(order, 'its time is not over').not.to.include('expired');
    expect(send.isReady(1), 'neither are the others dropped').to.equal(true);
    expect(stage.sent).to.deep.equal([]);
    expect(await dispatch(makeDeps())).to.equal('sent');
    expect(stage.sent[0]).to.include({ to: ADA, text: 'and this' });
  });

  it('drops all others of a send when it finds that it was cancelled', async () => {
    await rewriteHead(stage.space.store, ADDRESS, send.messageId, { cancelledAt: 1 });
    expect(await dispatch(makeDeps())).to.equal('not sent');
    expect(send.nextReady).to.equal(undefined);
    expect(send.isDone).to.equal(true);
    expect(stage.sent).to.deep.equal([]);
  });

  it('says that sends are over when it finds one that is', async () => {
    stage.leap(24 * 3_600_000);
    expect(await dispatch(makeDeps())).to.equal('not sent');
    expect(order.at(-1)).to.equal('expired');
  });

  for (const kind of ['text', 'otp'] as const) {
    it(`gives back a claim that was answered so late that another master may have promised something else: ${kind}`, async () => {
      send = await load(await stage.accept([ADA], { kind }));
      const answerAfter = (ms: number) => {
        stage.steps.between = async (step, run) => {
          order.push(step);
          const answer = await run();
          if (step === 'claim-recipient') stage.leap(ms);
          return answer;
        };
      };
      order = [];
      answerAfter(1_001);
      expect(await dispatch(makeDeps())).to.equal('not sent');
      expect([order, stage.sent]).to.deep.equal([['claim-recipient', 'unused'], []]);
      send = await load(await stage.accept([ADA], { kind }));
      answerAfter(1_000);
      expect(await dispatch(makeDeps())).to.equal('sent');
    });
  }

  describe('that is claimed before the library is free for it', () => {
    let news: number;
    let given: number;
    /** Its turn comes after this. */
    function whileItWaits(happens: () => void): DispatchDeps {
      [news, given] = [0, 0];
      const take = async () => {
        happens();
        return true;
      };
      const turns = { take, give: () => void given++ };
      return makeDeps({ turns, countNews: () => news });
    }
    async function expectUnused(): Promise<void> {
      expect(order.slice(-2)).to.deep.equal(['claim-recipient', 'unused']);
      expect(stage.sent).to.deep.equal([]);
      expect([given, counted]).to.deep.equal([1, { claimed: 1, unused: 1, answered: 0 }]);
    }

    it('goes out if nothing happened, and gives its turn back', async () => {
      expect(await dispatch(whileItWaits(() => stage.leap(100)))).to.equal('sent');
      expect(given).to.equal(1);
    });

    it('does not go out when the send was cancelled meanwhile', async () => {
      expect(await dispatch(whileItWaits(() => send.dropCancelled()))).to.equal('not sent');
      await expectUnused();
    });

    it('does not go out when its send is over', async () => {
      expect(await dispatch(whileItWaits(() => send.dropWaiting()))).to.equal('not sent');
      await expectUnused();
    });

    it('asks again when there is news of opt-outs, holds or names', async () => {
      expect(await dispatch(whileItWaits(() => void news++))).to.equal('not sent');
      await expectUnused();
    });

    it('asks again when it has waited for long', async () => {
      expect(await dispatch(whileItWaits(() => stage.leap(101)))).to.equal('not sent');
      await expectUnused();
    });

    it('goes out all the same if it is a code: no opt-out concerns it, and it takes one place in the pace', async () => {
      send = await load(await stage.accept([ADA], { kind: 'otp' }));
      const wait = () => {
        news++;
        stage.leap(101);
      };
      expect(await dispatch({ ...whileItWaits(wait), pacePlaces: makeDeps({ pace: PACE }).pacePlaces })).to.equal(
        'sent',
      );
      expect(order.filter((step) => step === 'take-pace')).to.have.length(1);
    });

    it('gives its turn back when it cannot be written', async () => {
      stage.network.answer = () => {
        throw new Error('no room');
      };
      expect(await dispatch(whileItWaits(() => {}))).to.equal('not sent');
      expect([order.at(-1), given]).to.deep.equal(['not written: no room', 1]);
    });
  });
});
