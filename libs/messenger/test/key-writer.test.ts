import type { KeyChanges } from '@gateway/messenger/keys/key-store-port';
import { KeyWriter } from '@gateway/messenger/keys/key-writer';
import { FencedError } from '@gateway/runtime/errors';
import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';

const key = (id: string, text: string): KeyChanges => ({ keys: [{ type: 'session', id, value: Buffer.from(text) }] });

/** After the promises of this moment, in the same turn of the event loop. An object, so that the write itself is not waited for. */
const inAMoment = async <Made>(make: () => Made): Promise<{ made: Made }> => {
  for (let step = 0; step < 20; step++) await Promise.resolve();
  return { made: make() };
};

describe('writing keys', () => {
  it('puts what arrives during a commit into the next one, each key once', async () => {
    const store = new MemoryKeyStore();
    const writer = new KeyWriter({ keyStore: store, onFailure: () => expect.fail() });
    await Promise.all([
      writer.write(key('a', '1')),
      Promise.resolve().then(() => writer.write(key('a', '2'))),
      Promise.resolve().then(() => writer.write({ creds: 'c1', ...key('b', '1') })),
      Promise.resolve().then(() => writer.write({ creds: 'c2', contacts: ['x'] })),
    ]);
    await writer.drain();
    expect(store.commits.length).to.be.lessThan(4);
    expect(Buffer.from(store.keys.get('session/a')!).toString()).to.equal('2');
    expect(store.creds).to.equal('c2');
    expect([...store.contacts]).to.deep.equal(['x']);
  });

  it('takes nothing after its end: the keys may be those of another session by then', async () => {
    const store = new MemoryKeyStore();
    const writer = new KeyWriter({ keyStore: store, onFailure: () => expect.fail() });
    void writer.write(key('a', '1'));
    await writer.drain();
    const late = await writer.write(key('b', '1')).catch((error: unknown) => error);
    expect(late).to.include({ code: 'session_ended' });
    expect([...store.keys.keys()]).to.deep.equal(['session/a']);
  });

  it('gathers what no caller waits for, from the second commit on', async () => {
    const store = new MemoryKeyStore();
    const writer = new KeyWriter({ keyStore: store, onFailure: () => expect.fail() });
    const later = { isAwaited: false };
    await writer.write(key('a', '1'), later);
    const writes: Promise<void>[] = [];
    for (let round = 0; round < 20; round++) {
      writes.push((await inAMoment(() => writer.write(key('a', `${round}`), later))).made);
    }
    await Promise.all(writes);
    expect(store.commits).to.have.length(2);
    expect(Buffer.from(store.keys.get('session/a')!).toString()).to.equal('19');
  });

  it('holds no caller up that waits, nor the end', async () => {
    for (const hurry of ['write', 'drain'] as const) {
      const store = new MemoryKeyStore();
      const writer = new KeyWriter({ keyStore: store, onFailure: () => expect.fail() });
      await writer.write(key('a', '1'));
      let hasTimePassed = false;
      const timer = setImmediate(() => {
        hasTimePassed = true;
      });
      const early = writer.write(key('a', '2'), { isAwaited: false });
      await (hurry === 'drain' ? writer.drain() : writer.write(key('b', '1')));
      await early;
      expect(hasTimePassed, hurry).to.equal(false);
      expect(store.commits).to.have.length(2);
      clearImmediate(timer);
    }
  });

  it('never has two commits under way', async () => {
    const store = new MemoryKeyStore();
    let underWay = 0;
    store.beforeCommit = async () => {
      underWay += 1;
      expect(underWay).to.equal(1);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
    };
    const writer = new KeyWriter({ keyStore: store, onFailure: () => {} });
    const writes: Promise<void>[] = [];
    for (let round = 0; round < 20; round++) {
      writes.push(writer.write(key(String(round % 3), String(round))));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(writes);
  });

  it('writes nothing after a failure, and says so to everyone', async () => {
    const store = new MemoryKeyStore();
    const failures: Error[] = [];
    const writer = new KeyWriter({ keyStore: store, onFailure: (error) => failures.push(error) });
    store.beforeCommit = () => {
      throw new FencedError();
    };
    const first = writer.write(key('a', '1'));
    const queued = Promise.resolve().then(() => writer.write(key('b', '1')));
    const results = await Promise.allSettled([first, queued]);
    store.beforeCommit = () => {};
    const late = await Promise.allSettled([writer.write(key('c', '1')), writer.drain()]);
    for (const result of [...results, ...late]) {
      expect(result.status === 'rejected' && result.reason).to.be.instanceOf(FencedError);
    }
    expect(failures).to.have.length(1);
    expect(store.keys.size).to.equal(0);
  });
});
