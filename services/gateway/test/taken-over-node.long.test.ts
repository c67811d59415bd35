import { deviceKeys } from '@gateway/contracts/redis-keys';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const WITHIN = { everyMs: 200 };
/** Of each device: at its pace it takes longer than the failover. */
const LIST = 150;
const NAMES = Array.from({ length: 40 }, (_, i) => `device-${i}`);
const BUSY = 3;

describe('a gateway that waits for replicas, on a Redis Cluster with one for each master', () => {
  const { cluster, space, simulator, gateway, send, shown } = useGateway({
    ...{ ownCluster: { replicas: 1 }, senders: 2, readyMs: 90_000 },
    env: { PACE_PER_MINUTE: '300', REDIS_WAIT_REPLICAS: '1' },
  });
  const nodeOf = (device: string) =>
    masterOfKey(space.store.redis, deviceKeys(space.store.space, { workspace: 'main', device }).backlog).options.port!;
  const accountOf = (device: string) => String(491_600_000_200 + NAMES.indexOf(device));
  const loginsOf = (device: string) =>
    [...simulator.network.accounts.find(accountOf(device))!.devices.values()].map(({ logins }) => logins);

  it('keeps the sockets of devices while a replica takes over from their master, with lists and receipts under way', async () => {
    const { master, replicas } = cluster.shards[0]!;
    const devices = NAMES.filter((name) => nodeOf(name) === master.port).slice(0, BUSY);
    expect(devices).to.have.length(BUSY);
    for (const device of devices) await gateway.link(accountOf(device), device);
    const listOf = (device: string) => makeNumbers(LIST, 1 + devices.indexOf(device));
    const areShown = (count: number) =>
      eventually(() => devices.every((device) => shown(accountOf(device)).length >= count), {
        ...WITHIN,
        what: `${count} are shown for each`,
      });
    for (const device of devices) await send(listOf(device), 'a list', device);
    await areShown(5);
    const logins = devices.map(loginsOf);

    await master.kill();
    const isMaster = async () => String(await askServer(replicas[0]!.url, 'ROLE')).startsWith('master');
    await eventually(isMaster, { ...WITHIN, what: 'the replica has taken over' });
    master.restart();
    await areShown(LIST);
    for (const device of devices) expect(shown(accountOf(device)).sort(), device).to.deep.equal(listOf(device).sort());
    expect(devices.map(loginsOf), 'logins').to.deep.equal(logins);
  });
});
