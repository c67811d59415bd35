import { EventEmitter } from 'node:events';
import { toAckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { AckWatch } from '@gateway/messenger/sending/watch-acks';
import { expect } from 'chai';

describe('watching acks', () => {
  let ws: EventEmitter;
  let watch: AckWatch;
  let late: object[];
  const ack = (attrs: Record<string, string>) => ws.emit('CB:ack,class:message', { tag: 'ack', attrs });

  beforeEach(() => {
    ws = new EventEmitter();
    late = [];
    watch = new AckWatch({
      sock: { ws } as never,
      ackTimeoutMs: 20,
      onLateRefusal: (refusal) => late.push(refusal),
    });
  });

  it('hears an ack that comes before the clock starts', async () => {
    const wait = watch.expect('A');
    ack({ id: 'A' });
    wait.startClock();
    expect((await wait.outcome).kind).to.equal('accepted');
  });

  it('gives each message its own verdict', async () => {
    const [a, b] = [watch.expect('A'), watch.expect('B')];
    ack({ id: 'B', error: '406' });
    ack({ id: 'A' });
    expect((await a.outcome).kind).to.equal('accepted');
    expect(await b.outcome).to.deep.equal({ kind: 'refused', code: 406 });
    expect(late).to.deep.equal([]);
  });

  for (const error of [undefined, '400', '463']) {
    it(`hears that the recipient has another hidden identifier, with ${error ?? 'an acceptance'}`, async () => {
      let heard = 0;
      const wait = watch.expect('A', { onStaleLid: () => heard++ });
      ack({ id: 'A', refresh_lid: 'true', ...(error && { error }) });
      expect((await wait.outcome).kind).to.equal(error ? toAckOutcome(error, 0).kind : 'accepted');
      expect(heard).to.equal(1);
    });
  }

  it('reports what the network takes back, or refuses too late', async () => {
    const wait = watch.expect('A');
    ack({ id: 'A' });
    await wait.outcome;
    ack({ id: 'A', error: '421' });
    ack({ id: 'X', error: '503' });
    ack({ id: 'Y' });
    expect(late).to.deep.equal([
      { platformId: 'A', code: 421, isFinal: true },
      { platformId: 'X', code: 503, isFinal: false },
    ]);
  });

  it('gives up after its time, or when the connection ends', async () => {
    const [a, b] = [watch.expect('A'), watch.expect('B')];
    a.startClock();
    expect(await a.outcome).to.deep.equal({ kind: 'unacknowledged' });
    watch.endAll();
    expect(await b.outcome).to.deep.equal({ kind: 'unacknowledged' });
  });

  it('lets a second try of the same id take over', async () => {
    const [first, second] = [watch.expect('A'), watch.expect('A')];
    first.cancel();
    ack({ id: 'A' });
    expect(await first.outcome).to.deep.equal({ kind: 'unacknowledged' });
    expect((await second.outcome).kind).to.equal('accepted');
  });
});
