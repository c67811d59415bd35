import type { FaultRule } from '@gateway/simulator/faults/fault-book';
import type { Session } from '@gateway/simulator/sessions/session';
import { countOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

/** A device whose account the network has moved to another namespace without a word. */
interface Moved {
  device: string;
  account: string;
  series: number;
  /** In which the client was told that its conversations are. */
  told: 'lid' | 'pn';
}

const DEVICES: Moved[] = [
  { device: 'refused-by-number', account: '491700000951', series: 951, told: 'pn' },
  { device: 'refused-by-hidden-id', account: '491700000952', series: 952, told: 'lid' },
];
/** Of this one the salt lies in the settings that its devices share. The network does not ask for what is made of it. */
const SEEKER = DEVICES[0]!;
const END_MARK_MS = 2_500;
/** While the network does not tell the settings, they are waited for for 8 s. */
const AT_ONCE_MS = 6_000;
const TEXT = 'a list';

describe('a network that is difficult in every way at once', () => {
  // Each status that no one confirms ends the stream after a second; by number, lists of devices are empty.
  const run = useGateway({ simulator: { statusAckMs: 1_000 }, env: { ACK_TIMEOUT_MS: '5000' } });
  const people = ({ series }: Moved) => {
    const numbers = makeNumbers(63, series);
    const [asking, absent, unnamed, status, withBadKeys, ...others] = numbers as [string, ...string[]];
    return { asking, absent, unnamed, status, withBadKeys, stopped: others.slice(0, 30), patient: others.slice(30) };
  };
  const personOf = ({ series }: Moved) => `lid:144000000000${series}`;
  const ofAccount = ({ account }: Moved) => run.simulator.network.accounts.ensure(account);
  const clientOf = (moved: Moved) => [...ofAccount(moved).devices.values()][0]!;
  let numberOfLogins: Map<Moved, number>;
  let settings: FaultRule;

  before(async () => {
    const { gateway } = run;
    Object.assign(ofAccount(SEEKER), { saltIn: 'settings', tokensRequired: false });
    const match = { account: SEEKER.account, xmlns: 'w:sync:app:state' };
    settings = run.simulator.network.faults.add({ on: 'iq', match, do: { silent: true } });
    for (const moved of DEVICES) {
      ofAccount(moved).addressing = moved.told;
      await gateway.link(moved.account, moved.device);
      await eventually(() => clientOf(moved).introduced, { what: 'the first history' });
      // They have talked before; the person has no number yet.
      await run.write(personOf(moved), moved.account, 'hello');
    }
    await Promise.all([...gateway.senders, ...gateway.connections].map((service) => service.stop()));
    for (const moved of DEVICES) await makeDifficult(moved);
    numberOfLogins = new Map(DEVICES.map((moved) => [moved, clientOf(moved).logins]));
  });

  async function makeDifficult(moved: Moved): Promise<void> {
    const { account } = moved;
    const { absent, stopped, unnamed, status, withBadKeys } = people(moved);
    const { network } = run.simulator;
    network.phones.setHabits(withBadKeys!, { badKeys: true });
    network.directory.setExists(absent!, false);
    Object.assign(ofAccount(moved), { addressing: moved.told === 'lid' ? 'pn' : 'lid' });
    ofAccount(moved).backlog.endMarkMs = END_MARK_MS;
    // What waits: statuses that end the stream or withhold all that follows, and people who want no more messages.
    for (const undecryptable of [true, false]) {
      const stanza = undecryptable ? 'message' : 'status';
      await run.admin('POST', `/admin/phones/${status}/status`, { to: account, undecryptable, stanza });
      await run.admin('POST', `/admin/phones/${status}/status`, { to: account, undecryptable });
    }
    for (const number of stopped) await run.write(number, account, 'STOP');
    await run.write(personOf(moved), account, 'STOP');
    await run.admin('PUT', `/admin/phones/${personOf(moved)}`, { number: unnamed });
  }

  it('gets every message to its person once, none to those who wrote STOP, and OTPs at once', async () => {
    const lists = new Map<Moved, string>();
    for (const moved of DEVICES) {
      const { absent, unnamed, withBadKeys, stopped, patient } = people(moved);
      const to = [absent!, unnamed!, withBadKeys!, ...stopped, ...patient];
      lists.set(moved, await run.send(to, TEXT, moved.device));
    }
    const asked = settings.hits;
    await run.gateway.addSender();
    await eventually(() => settings.hits > asked, { what: 'settings asked for, and not told' });
    await Promise.all(DEVICES.map(getsCodeAtOnce));
    await Promise.all(DEVICES.map((moved) => endOverStatus(moved)));
    await Promise.all(DEVICES.map((moved) => isComplete(moved, lists.get(moved)!)));
  });

  async function getsCodeAtOnce(moved: Moved): Promise<void> {
    const { asking } = people(moved);
    const { device, account } = moved;
    const startedMs = performance.now();
    const { status, body } = await run.gateway.call('POST', '/otp', {
      device,
      body: { phone: asking, code: '482913' },
    });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(performance.now() - startedMs).to.be.below(AT_ONCE_MS);
    expect(run.shown(account), 'before the end of the backlog').to.deep.equal([asking]);
  }

  /** In the middle of the list. */
  async function endOverStatus(moved: Moved): Promise<void> {
    await eventually(() => run.shown(moved.account, TEXT).length > 5, { everyMs: 5 });
    const attrs = { id: 'STATUS', from: 'status@broadcast', participant: '144000000000999@lid' };
    (clientOf(moved).connection as Session).endStreamOver({ tag: 'status', attrs });
  }

  async function isComplete(moved: Moved, messageId: string): Promise<void> {
    const { absent, unnamed, withBadKeys, stopped, patient } = people(moved);
    const { device, account } = moved;
    const waitFor = async (counts: object) => {
      const { recipients } = await run.gateway.waitForSend(messageId, counts, { device, query: '?limit=100' });
      return new Map(recipients.map(({ to, error }: { to: string; error: string | null }) => [to, error]));
    };
    const failed = stopped.length + 2;
    const errors = await waitFor({ queued: 1, read: patient.length, failed });
    for (const number of [...stopped, unnamed]) expect(errors.get(number!)).to.equal('recipient_opted_out');
    expect(errors.get(absent!)).to.equal('not_on_messenger');
    expect(errors.get(withBadKeys!), 'who waits says why').to.equal('looked_up_again');
    run.simulator.network.phones.setHabits(withBadKeys!, { badKeys: false });
    await waitFor({ queued: 0, read: patient.length + 1, failed });
    expect(run.shown(account, TEXT).sort()).to.deep.equal([...patient, withBadKeys].sort());
  }

  it('learns each namespace from one refusal of each word of the phone, and loses no connection over a status of its backlog', () => {
    // One of the phones says of a hidden identifier that it has migrated, after the network has said otherwise.
    expect(run.simulator.network.counters.refusedStanzas).to.equal(DEVICES.length + 1);
    for (const moved of DEVICES) {
      expect(clientOf(moved).logins - numberOfLogins.get(moved)!, 'the first login, and one after the end').to.equal(2);
    }
  });

  it('has heard of every STOP, and confirmed all that waited', async () => {
    const wishes = DEVICES.reduce((sum, moved) => sum + people(moved).stopped.length + 1, 0);
    expect(await countOptOuts(run.space.store, 'main')).to.equal(wishes);
    await eventually(() => DEVICES.every((moved) => clientOf(moved).mailbox.size === 0), { what: 'empty mailboxes' });
  });
});
