import { ringDoorbell } from '@gateway/store/core/doorbells';
import { setPace } from '@gateway/store/devices/devices';
import { openEvents } from '@gateway/store/events/open-events';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { namesOfPerson } from '@gateway/store/workspace/people';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { dumpRedis } from '../../api/test/support/find-traces.js';
import { runCli } from './support/run-cli.js';

const ACCOUNT = '491700000341';
const ADDRESS = { workspace: 'main', device: 'default' };

describe('a person whom the gateway is to forget', () => {
  const fixture = useGateway();

  async function forget(number: string): Promise<{ device: string; what: string; removed: number }[]> {
    const { code, stdout, stderr } = await runCli(fixture.space, ['person', 'forget', number, '--json']);
    expect(code, stderr).to.equal(0);
    return JSON.parse(stdout);
  }

  /** Everything in the list of opt-outs. */
  async function wishes(): Promise<string[]> {
    const { space } = fixture;
    const keys = await space.clients.commands.keys(`${space.prefix}:{main}:opt-outs:*`);
    const lists = await Promise.all(keys.map((key) => space.clients.commands.hgetall(key)));
    return lists.flatMap((list) => Object.entries(list).flat());
  }

  it('is removed from a device in use and from its sends, but for their wish; the others get what was meant for them', async () => {
    const { gateway, space } = fixture;
    const [person, ...others] = makeNumbers(8, 5) as [string, ...string[]];
    await openEvents(space.store, 'main');
    const webhook = await createActiveWebhook(space.store, 'https://example.com/');
    const attempt = { webhookId: 'evt_1', atMs: 0, tookMs: 1, status: 500, error: null, answer: `{"to":"${person}"}` };
    await recordAttempt(space.store, 'main', webhook, { attempt });
    await gateway.link(ACCOUNT);
    const first = await fixture.send([person, others[0]!], 'hello');
    await gateway.waitForSend(first, { queued: 0, sent: 0, delivered: 0 });
    await fixture.write(person, ACCOUNT, 'who are you?');
    await fixture.write(person, ACCOUNT, 'STOP');
    await eventually(() => findOptOut(space.store, 'main', person));
    const names = await namesOfPerson(space.store, ADDRESS, person);
    // A list that stands still, with this person in it.
    await setPace(space.store, ADDRESS, { messagesPerMinute: 1, jitter: 0, burst: 1 });
    await ringDoorbell(space.store, { topic: 'sends', ...ADDRESS });
    const second = await fixture.send([...others, person], 'hello again');

    const found = await forget(person);
    const removed = Object.fromEntries(found.map(({ what, removed }) => [what, removed]));
    expect(removed).to.include({ sends: 2, recipients: 2, events: 1, 'webhook-attempts': 1 });
    expect(removed).to.include.keys('session', 'received', 'tctoken', 'lid-mapping');
    expect(await forget(person), 'again').to.deep.equal([]);

    await setPace(space.store, ADDRESS, undefined);
    await ringDoorbell(space.store, { topic: 'sends', ...ADDRESS });
    await gateway.waitForSend(second, { queued: 0, sent: 0, delivered: 0 });
    expect(fixture.shown(ACCOUNT, 'hello again').sort()).to.deep.equal([...others].sort());
    const { body } = await gateway.call('GET', `/messages/${first}`);
    expect(body.recipients.map(({ to }: { to: string }) => to)).to.have.members(['forgotten', others[0]!]);
    expect(await forget(person), 'nor has the sender written it again').to.deep.equal([]);
    const left = (await dumpRedis(space)).split('\n').filter((line) => [...names].some((name) => line.includes(name)));
    expect(await wishes(), 'what is left is that they want no messages').to.include.members(left);
    expect(await findOptOut(space.store, 'main', person)).to.not.equal(undefined);
  });

  it('is a stranger to the sender that owns the device, too: its next message to them starts a new session', async () => {
    const { gateway, simulator } = fixture;
    const [person] = makeNumbers(1, 6) as [string];
    const write = async (text: string) => {
      const before = simulator.network.counters.keyBundles;
      const messageId = await fixture.send([person], text);
      await gateway.waitForSend(messageId, { queued: 0, sent: 0, delivered: 0 });
      return simulator.network.counters.keyBundles - before;
    };
    await write('first');
    expect(await write('second'), 'a session goes on').to.equal(0);
    expect((await forget(person)).map(({ what }) => what)).to.include('session');
    expect(await write('third'), 'asks for their keys again').to.be.above(0);
    expect(fixture.shown(ACCOUNT, 'third')).to.deep.equal([person]);
  });
});
