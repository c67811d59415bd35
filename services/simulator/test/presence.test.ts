import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

describe('presence', () => {
  const network = useSimulator();
  let alice: Linked;
  let bob: Linked;

  /** The next thing that Bob's client says of a person. */
  const nextPresence = (jid: string) =>
    new Promise<string>((resolve) => {
      bob.socket.ev.on('presence.update', ({ presences }) => {
        const seen = presences[jid]?.lastKnownPresence;
        if (seen) resolve(seen);
      });
    });

  before(async () => {
    [alice, bob] = await Promise.all([network.link({ markOnlineOnConnect: false }), network.link()]);
    const asked = nextPresence(alice.jid);
    await bob.socket.presenceSubscribe(alice.jid);
    expect(await asked).to.equal('unavailable');
  });

  for (const presence of ['available', 'composing', 'recording', 'unavailable'] as const) {
    it(`carries ${presence} to who asked for it`, async () => {
      const seen = nextPresence(alice.jid);
      await alice.socket.sendPresenceUpdate(presence, bob.jid);
      expect(await seen).to.equal(presence);
    });
  }

  it('reports as gone a person whose connection is gone', async () => {
    const here = nextPresence(alice.jid);
    await alice.socket.sendPresenceUpdate('available');
    await here;
    const seen = nextPresence(alice.jid);
    await alice.socket.end(undefined);
    expect(await seen).to.equal('unavailable');
  });

  it('follows the switch of a phone without a client', async () => {
    const jid = '4917400000001@s.whatsapp.net';
    const asked = nextPresence(jid);
    await bob.socket.presenceSubscribe(jid);
    expect(await asked).to.equal('available');
    const seen = nextPresence(jid);
    await network.admin('PUT', '/admin/phones/4917400000001', { online: false });
    expect(await seen).to.equal('unavailable');
  });
});
