import { SessionEndedError } from '@gateway/messenger/session/session-errors';
import { FencedError } from '@gateway/runtime/errors';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { makeNumbers, makePlatformId, useSessions } from './support/session-fixture.js';

const text = { kind: 'text', text: 'hello' } as const;

describe('the end of a session', () => {
  const sessions = useSessions();

  it('logs the device out at the network', async () => {
    const test = await sessions.openLinked();
    await test.session.logOut(2_000);
    expect(await test.next('closed')).to.deep.equal({ kind: 'loggedOut', code: 401 });
    const resumed = await sessions.open(test.keyStore);
    expect(await resumed.next('closed')).to.deep.equal({ kind: 'loggedOut', code: 401 });
  });

  it('does not say that it logged out before the network has', async () => {
    const test = await sessions.openLinked();
    sessions.fault('iq', { silent: true }, { match: { xmlns: 'md' } });
    const error = await test.session.logOut(150).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).to.include('logout');
    const { ack } = await test.session.send({ to: makeNumbers(1)[0]!, platformId: makePlatformId(), content: text });
    expect((await ack).kind, 'the session lives').to.equal('accepted');
  });

  it('notices that the phone removed the device', async () => {
    const test = await sessions.openLinked();
    const { jid } = await test.next('open');
    const device = jid.match(/:(\d+)@/)?.[1];
    await sessions.admin('DELETE', `accounts/${test.phone}/devices/${device}`);
    expect(await test.next('closed')).to.deep.equal({ kind: 'loggedOut', code: 401 });
  });

  it('notices another login with the same keys', async () => {
    const test = await sessions.openLinked();
    const other = await sessions.open(test.keyStore.copy());
    await other.next('open');
    expect(await test.next('closed')).to.deep.equal({ kind: 'replaced', code: 440 });
  });

  for (const [error, outcome] of [
    [403, { kind: 'banned', code: 403 }],
    [405, { kind: 'clientOutdated', code: 405 }],
    [503, { kind: 'reconnect', code: 503, backoff: 'server' }],
  ] as const) {
    it(`reports a login refused with ${error} as ${outcome.kind}`, async () => {
      const { keyStore } = await sessions.link();
      sessions.fault('login', { error });
      const test = await sessions.open(keyStore);
      expect(await test.next('closed')).to.deep.equal(outcome);
    });
  }

  it('reports a request to restart, and a network that restarts', async () => {
    const test = await sessions.openLinked();
    sessions.fault('message', { streamError: 515 });
    await test.session.send({ to: makeNumbers(1)[0]!, platformId: makePlatformId(), content: text }).catch(() => {});
    expect(await test.next('closed')).to.deep.equal({ kind: 'restart', code: 515 });
    const other = await sessions.openLinked();
    await sessions.admin('POST', 'restart-sockets');
    expect(await other.next('closed')).to.include({ kind: 'reconnect', backoff: 'network' });
  });

  it('reports that there is no linked account', async () => {
    const { keyStore } = await sessions.link();
    const endpoint = { url: 'ws://127.0.0.1:9/ws/chat', trust: { kind: 'insecure' } as const };
    const test = await sessions.open(keyStore, { endpoint });
    expect(await test.next('closed')).to.include({ kind: 'reconnect', backoff: 'network' });
  });

  it('lets nothing out once the ownership may be gone', async () => {
    let held = true;
    const test = await sessions.openLinked({
      assertMayWrite: () => {
        if (!held) throw new FencedError();
      },
    });
    const [to] = makeNumbers(1) as [string];
    await test.session.lookUp([to]);
    held = false;
    const error = await test.session.send({ to, platformId: makePlatformId(), content: text }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(SessionEndedError);
    expect(await test.next('closed')).to.deep.equal({ kind: 'fenced' });
    expect(await sessions.messagesOf(to)).to.deep.equal([]);
  });

  it('lets nothing out of a turn in which the ownership was lost, although it was held when that was written', async () => {
    let [held, isFrozen] = [true, false];
    const test = await sessions.openLinked({
      assertMayWrite: () => {
        if (!held) throw new FencedError();
        held = !isFrozen;
      },
    });
    const [to] = makeNumbers(1) as [string];
    await test.session.lookUp([to]);
    isFrozen = true;
    await test.session.send({ to, platformId: makePlatformId(), content: text }).catch(() => {});
    expect(held, 'a frame was written').to.equal(false);
    expect(await test.next('closed')).to.deep.equal({ kind: 'fenced' });
    expect(await sessions.messagesOf(to)).to.deep.equal([]);
  });

  it('ends when its keys are refused: another process owns the device', async () => {
    const test = await sessions.openLinked();
    const [to] = makeNumbers(1) as [string];
    await test.session.lookUp([to]);
    // What the phone says after the linking is stored: only the message has something to write.
    await eventually(() => JSON.parse(test.keyStore.creds ?? '{}').hasHistory);
    test.keyStore.beforeCommit = () => {
      throw new FencedError();
    };
    const { ack } = await test.session.send({ to, platformId: makePlatformId(), content: text });
    expect((await ack).kind, 'written, so it may have arrived').to.be.oneOf(['accepted', 'unacknowledged']);
    expect(await test.next('closed')).to.deep.equal({ kind: 'fenced' });
    expect(test.options.caches.keys.size, 'nothing is remembered that the store does not have').to.equal(0);
  });

  it('sends nothing when a key cannot be read, rather than leave out a device', async () => {
    const test = await sessions.openLinked();
    const [to] = makeNumbers(1) as [string];
    const { ack } = await test.session.send({ to, platformId: makePlatformId(), content: text });
    await ack;
    await eventually(async () => (await sessions.messagesOf(to)).length === 1);
    test.options.caches.keys.clear();
    test.keyStore.beforeRead = (type) => {
      if (type === 'session') throw new Error('cannot be decrypted');
    };
    const stored = new Map(test.keyStore.keys);
    const again = test.session.send({ to, platformId: makePlatformId(), content: text }).then(
      () => 'sent',
      () => 'rejected',
    );
    expect(await again).to.equal('rejected');
    expect(await test.next('closed')).to.deep.equal({ kind: 'keysUnreadable' });
    expect(await sessions.messagesOf(to)).to.have.length(1);
    for (const [id, value] of stored) if (id.startsWith('session/')) expect(test.keyStore.keys.get(id)).to.equal(value);
  });

  it('finishes its key writes before it says that it has ended', async () => {
    const test = await sessions.openLinked();
    let underWay = 0;
    test.keyStore.beforeCommit = async () => {
      underWay += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
      underWay -= 1;
    };
    const sending = test.session
      .send({ to: makeNumbers(1)[0]!, platformId: makePlatformId(), content: text })
      .catch(() => {});
    await eventually(() => underWay > 0);
    await test.session.close();
    expect(underWay).to.equal(0);
    await sending;
    expect(test.reports.filter(({ event }) => event === 'closed')).to.have.length(1);
  });

  it('tells the account its picture, and that there is none', async () => {
    const test = await sessions.openLinked();
    expect(await test.session.fetchProfilePicture()).to.match(/^http/);
    await sessions.admin('PUT', `phones/${test.phone}`, { picture: false });
    expect(await test.session.fetchProfilePicture()).to.equal(undefined);
  });
});
