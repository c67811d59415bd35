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
  const loginsOf = () => [...simulator.network.accounts.find(ACCOUNT)!.devices.values()].map(({ logins }) => logins);
  const needReplicas = (count: number) => space.store.redis.config('SET', 'min-replicas-to-write', count);
  const countRefusals = async () =>
    Number(/errorstat_NOREPLICAS:count=(\d+)/.exec(await space.store.redis.info('errorstats'))?.[1] ?? 0);

  it('keeps the sockets of devices, and goes on with lists and receipts once it takes them again', async () => {
    await gateway.link(ACCOUNT, 'default');
    const to = makeNumbers(LIST);
    await send(to, 'a list');
    await eventually(() => shown(ACCOUNT).length >= 5, { what: 'the list is under way' });
    const logins = loginsOf();
    await needReplicas(1);
    await eventually(async () => (await countRefusals()) >= REFUSALS, { what: 'writes are refused' });
    await needReplicas(0);
    await eventually(() => shown(ACCOUNT).length >= LIST, { what: 'all is shown' });
    expect(shown(ACCOUNT).sort()).to.deep.equal(to.sort());
    expect(loginsOf(), 'logins').to.deep.equal(logins);
  });
});
