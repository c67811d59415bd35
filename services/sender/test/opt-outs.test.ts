import type { Pace } from '@gateway/contracts/devices/pace';
import { proto } from '@gateway/messenger/socket/baileys';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { setPace } from '@gateway/store/devices/devices';
import { addOptOuts, countOptOuts, findOptedOut, findOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491700000081';
const ADDRESS = { workspace: 'main', device: 'default' };

describe('people who opted out, end to end', () => {
  const { space, simulator, gateway } = useGateway({ env: { SESSION_TTL_MS: '2000' } });

  before(async () => {
    await gateway.link(ACCOUNT);
  });
  afterEach(() => changePace(undefined));

  const changePace = async (pace: Pace | undefined): Promise<void> => {
    await setPace(space.store, ADDRESS, pace);
    await ringDoorbell(space.store, { topic: 'sends', ...ADDRESS });
  };
  const paceWaits = async () =>
    Math.max(
      ...(await gateway.metrics()).map((text) =>
        Number(/^gateway_pace_wait_seconds_total (\S+)/m.exec(text)?.[1] ?? 0),
      ),
    );
  /** Resolves when it is in force: messages have waited for it. */
  const slowTo = async (messagesPerMinute: number): Promise<void> => {
    const before = await paceWaits();
    await changePace({ messagesPerMinute, burst: 1, jitter: 0 });
    await eventually(async () => {
      await finish(await send(makeNumbers(2, 80), 'a trial'));
      return (await paceWaits()) > before;
    });
  };

  const optOut = (...numbers: string[]) =>
    addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: Date.now() });
  const send = async (to: string[], text: string): Promise<string> => {
    const { status, body } = await gateway.call('POST', '/send', { body: { to, text } });
    expect(status, JSON.stringify(body)).to.equal(202);
    return body.messageId;
  };
  const finish = (messageId: string) =>
    gateway.waitForSend(messageId, { queued: 0, sent: 0, delivered: 0 }, { query: '?limit=1000' });
  const shown = async (text: string) =>
    (await readDeliveries(simulator, ACCOUNT)).filter((message) => message.text === text).map(({ to }) => to);

  const write = async (from: string, text: string): Promise<void> => {
    const response = await fetch(`${simulator.adminUrl}/admin/phones/${from}/messages`, {
      method: 'POST',
      body: JSON.stringify({ to: ACCOUNT, text }),
    });
    expect(response.status).to.equal(201);
  };
  /** The number of a person without one becomes known. */
  const reveal = async (person: string, number: string): Promise<void> => {
    const path = `${simulator.adminUrl}/admin/phones/${person}`;
    expect((await fetch(path, { method: 'PUT', body: JSON.stringify({ number }) })).status).to.equal(200);
  };
  /** The phone of the account says that a number and a hidden identifier are of one person. */
  const pushMapping = (number: string, lid: string): Promise<void> => {
    const pnToLidMappings = [{ pn: Number(number), assignedLid: Number(lid) }];
    const encodedMappingPayload = proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings }).finish();
    const type = proto.Message.ProtocolMessage.Type.LID_MIGRATION_MAPPING_SYNC;
    const protocolMessage = { type, lidMigrationMappingSyncMessage: { encodedMappingPayload } };
    return simulator.office.writer.tellClients(ACCOUNT, { protocolMessage });
  };
  const isOptedOut = async (number: string) => (await findOptOut(space.store, 'main', number)) !== undefined;

  it('get nothing of a list, and the answer says of each why', async () => {
    const numbers = makeNumbers(30, 81);
    await optOut(numbers[3]!, numbers[29]!);
    const { counts, recipients } = await finish(await send(numbers, 'a list'));
    expect(counts).to.include({ failed: 2, read: 28 });
    expect(recipients[3]).to.include({ to: numbers[3], status: 'failed', error: 'recipient_opted_out' });
    expect(await shown('a list')).to.have.members(numbers.filter((_, i) => i !== 3 && i !== 29));
  });

  it('are found by the other way to write their number', async () => {
    const [withNine, without] = ['5531987654321', '553187654321'] as const;
    await optOut(withNine);
    const { recipients } = await finish(await send([without], 'oi'));
    expect(recipients[0]).to.include({ to: without, status: 'failed', error: 'recipient_opted_out' });
    expect(await shown('oi')).to.deep.equal([]);
  });

  it('do not slow the pace of the others', async () => {
    const hourly: Pace = { messagesPerMinute: 1 / 60, burst: 1, jitter: 0 };
    await setPace(space.store, ADDRESS, hourly);
    const numbers = makeNumbers(8, 82);
    await optOut(...numbers.slice(0, 7));
    const { counts } = await finish(await send(numbers, 'paced'));
    expect(counts).to.include({ failed: 7, read: 1 });
  });

  it('get the codes that they ask for', async () => {
    const [number] = makeNumbers(1, 83) as [string];
    await optOut(number);
    const { status, body } = await gateway.call('POST', '/otp', { body: { phone: number, code: '482913' } });
    expect(status, JSON.stringify(body)).to.equal(200);
  });

  it('may say so in mid-list, in English or in Arabic: they get nothing any more', async () => {
    await slowTo(300);
    const numbers = makeNumbers(40, 84);
    const [english, arabic] = numbers.slice(-2) as [string, string];
    const messageId = await send(numbers, 'mid-list');
    await eventually(async () => (await shown('mid-list')).length >= 3, { everyMs: 50 });
    await Promise.all([write(english, 'Stop.'), write(arabic, 'إيقَاف')]);
    for (const number of [english, arabic]) await eventually(() => isOptedOut(number), { everyMs: 20 });
    expect((await shown('mid-list')).length, 'still in mid-list').to.be.lessThan(38);
    await changePace(undefined);
    const { counts, recipients } = await finish(messageId);
    expect(counts).to.include({ failed: 2, read: 38 });
    for (const recipient of recipients.slice(-2)) expect(recipient.error).to.equal('recipient_opted_out');
    expect(await shown('mid-list')).to.have.members(numbers.slice(0, -2));
    expect(await findOptOut(space.store, 'main', english)).to.include({ phone: english, source: 'reply' });
  });

  it('may say so under a hidden identifier, before their number is known: it counts for the number', async () => {
    const [number] = makeNumbers(1, 88) as [string];
    const person = 'lid:144000000000088';
    const before = await countOptOuts(space.store, 'main');
    await write(person, 'STOP');
    await eventually(async () => (await countOptOuts(space.store, 'main')) === before + 1);
    expect(await findOptOut(space.store, 'main', '144000000000088@lid')).to.include({ source: 'reply' });
    await reveal(person, number);
    const { recipients } = await finish(await send([number], 'to a hidden person'));
    expect(recipients[0]).to.include({ to: number, status: 'failed', error: 'recipient_opted_out' });
    expect(await shown('to a hidden person')).to.deep.equal([]);
    expect(await isOptedOut(number), 'from now on by number').to.equal(true);
    expect(await countOptOuts(space.store, 'main')).to.equal(before + 1);
  });

  it('are known under a hidden identifier also when all lookups are forgotten in mid-list', async () => {
    await slowTo(1_000);
    const [number, ofAnother, ...others] = makeNumbers(13, 90) as [string, string, ...string[]];
    const [person, another] = ['lid:144000000000090', 'lid:144000000000091'];
    await write(another, 'hello');
    await write(person, 'STOP');
    await eventually(async () => await findOptOut(space.store, 'main', '144000000000090@lid'));
    await reveal(person, number);
    const messageId = await send([...others, number], 'over news');
    await eventually(async () => (await shown('over news')).length > 0, { everyMs: 20 });
    // The phone of the account tells of a mapping: whom else it is about is not known.
    await reveal(another, ofAnother);
    const { recipients } = await finish(messageId);
    expect(recipients.at(-1)).to.include({ to: number, status: 'failed', error: 'recipient_opted_out' });
    expect(await shown('over news')).to.have.members(others);
  });

  it('are found by a check of contacts, too, when it shows whose number it is', async () => {
    const [number] = makeNumbers(1, 89) as [string];
    const person = 'lid:144000000000089';
    await write(person, 'STOP');
    await eventually(async () => await findOptOut(space.store, 'main', '144000000000089@lid'));
    await reveal(person, number);
    const { status, body } = await gateway.call('POST', '/contacts/check', { body: { phones: [number] } });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(await isOptedOut(number)).to.equal(true);
  });

  it('are found when the phone says whose number it is and the network agrees, before anything is sent', async () => {
    const [number, ofAnother] = makeNumbers(2, 78) as [string, string];
    const [person, deceived] = ['lid:144000000000078', 'lid:144000000000079'];
    for (const each of [person, deceived]) await write(each, 'STOP');
    await eventually(() => isOptedOut('144000000000078@lid'));
    await eventually(() => isOptedOut('144000000000079@lid'));
    // A pair that the phone made up, before one that is true.
    await pushMapping(ofAnother, '144000000000079');
    await reveal(person, number);
    await eventually(() => isOptedOut(number), { what: 'joined' });
    expect(await isOptedOut(ofAnother), 'a made-up pair').to.equal(false);
    expect(await findOptOut(space.store, 'main', '144000000000079@lid')).to.include({
      hiddenId: '144000000000079@lid',
    });
  });

  it('are found also when the network does not answer for their number at first', async () => {
    const [number] = makeNumbers(1, 76) as [string];
    const person = 'lid:144000000000076';
    await write(person, 'STOP');
    await eventually(() => isOptedOut('144000000000076@lid'));
    const match = { account: ACCOUNT, xmlns: 'usync' };
    const refusal = simulator.network.faults.add({ on: 'iq', do: { error: 500 }, match, count: 1 });
    await reveal(person, number);
    await eventually(() => isOptedOut(number), { what: 'joined' });
    expect(refusal.hits).to.equal(1);
  });

  it('are found when the history of another device of the workspace names their number', async () => {
    const [number] = makeNumbers(1, 77) as [string];
    const person = 'lid:144000000000077';
    await write(person, 'STOP');
    await eventually(() => isOptedOut('144000000000077@lid'));
    const { accounts, directory } = simulator.network;
    directory.identities.reveal(person, number);
    accounts.ensure('491700000082').contacts.add(person);
    await gateway.link('491700000082', 'second');
    await eventually(() => isOptedOut(number), { what: 'joined' });
  });

  it('may come back by saying so, and not otherwise', async () => {
    const [number] = makeNumbers(1, 85) as [string];
    await write(number, 'STOP');
    await eventually(() => isOptedOut(number));
    await write(number, 'yes');
    await write(number, 'START');
    await eventually(async () => !(await isOptedOut(number)));
    expect((await finish(await send([number], 'welcome back'))).counts).to.include({ read: 1 });
  });

  it('are heard by each of many, however the sender dies in between', async () => {
    const numbers = makeNumbers(60, 86);
    const before = await countOptOuts(space.store, 'main');
    const writing = Promise.all(numbers.map((number) => write(number, 'UNSUBSCRIBE')));
    await eventually(async () => (await countOptOuts(space.store, 'main')) > before + 5, { everyMs: 1 });
    await gateway.senders.at(-1)!.kill();
    await gateway.addSender();
    await writing;
    await eventually(async () => (await findOptedOut(space.store, 'main', numbers)).size === 60);
  });

  it('are heard by the next sender when none had the device', async () => {
    const [number, ofHidden] = makeNumbers(2, 87) as [string, string];
    const person = 'lid:144000000000087';
    await gateway.waitForStatus('connected');
    await gateway.senders.at(-1)!.stop();
    await Promise.all([write(number, 'توقف'), write(person, 'STOP')]);
    await gateway.addSender();
    await eventually(() => isOptedOut(number));
    await eventually(() => isOptedOut('144000000000087@lid'));
    await reveal(person, ofHidden);
    await eventually(() => isOptedOut(ofHidden), { what: 'joined' });
  });

  it('and what they wrote, are in no log', () => {
    const logs = JSON.stringify(gateway.logs());
    expect(logs).not.to.match(/UNSUBSCRIBE|توقف/);
    for (const number of makeNumbers(60, 86)) expect(logs).not.to.include(number);
  });
});
