import { ringDoorbell } from '@gateway/store/core/doorbells';
import { findOptedOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491600000301';
const LIST = 60;
/** The owner must be refused as often as it needs to, to show what it does then. */
const REFUSALS = 10;

describe('a gateway whose Redis refuses writes while its replicas are away', () => {
  const { space, simulator, gateway, send, shown } = useGateway({
    ownRedis: true,
    env: { PACE_PER_MINUTE: '600' },
  });
  const devices = () => [...simulator.network.accounts.find(ACCOUNT)!.devices.values()];
  const loginsOf = () => devices().map(({ logins }) => logins);
  const write = (from: string, conversation: string) => simulator.office.writer.write(from, ACCOUNT, { conversation });
  const isKept = (id: string) => devices().some(({ mailbox }) => mailbox.save().some(({ attrs }) => attrs.id === id));
  const needReplicas = (count: number) => space.store.redis.config('SET', 'min-replicas-to-write', count);
  const countRefusals = async () =>
    Number(/errorstat_NOREPLICAS:count=(\d+)/.exec(await space.store.redis.info('errorstats'))?.[1] ?? 0);

  it('keeps the sockets of devices, and goes on with lists, receipts and what people write once it takes them again', async () => {
    await gateway.link(ACCOUNT, 'default');
    const [friend, ...to] = makeNumbers(LIST + 1);
    await send(to, 'a list');
    await eventually(() => shown(ACCOUNT).length >= 5, { what: 'the list is under way' });
    // Of people who have written before nothing is stored but what they say.
    const { id } = await write(friend!, 'hello');
    await eventually(() => !isKept(id), { what: 'it hears people' });
    const logins = loginsOf();
    await needReplicas(1);
    await write(friend!, 'STOP');
    // It looks what is wanted of it, as it does every few seconds.
    await ringDoorbell(space.store, { topic: 'desired', workspace: 'main', device: 'default' });
    await eventually(async () => (await countRefusals()) >= REFUSALS, { what: 'writes are refused' });
    await needReplicas(0);
    await eventually(() => shown(ACCOUNT).length >= LIST, { what: 'all is shown' });
    expect(shown(ACCOUNT).sort()).to.deep.equal(to.sort());
    const isOptedOut = async () => (await findOptedOut(space.store, 'main', [friend!])).size > 0;
    await eventually(isOptedOut, { what: 'the STOP counts' });
    expect(loginsOf(), 'logins').to.deep.equal(logins);
  });
});
