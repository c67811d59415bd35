import { deviceKeys, tokenIndexPartKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const WITHIN = { everyMs: 200 };
/** Of each device: at its pace it takes longer than several sessions. */
const LIST = 90;
const SETTINGS = { PACE_PER_MINUTE: '300', SESSION_TTL_MS: '3000' };
const NAMES = Array.from({ length: 40 }, (_, i) => `device-${i}`);
const PER_NODE = 2;

describe('a gateway on a Redis Cluster without replicas', () => {
  const { cluster, space, simulator, gateway, send, shown } = useGateway({
    ...{ ownCluster: { replicas: 0 }, senders: 2, readyMs: 90_000, env: SETTINGS },
  });
  const portOf = (key: string) => masterOfKey(space.store.redis, key).options.port!;
  const nodeOf = (device: string) => portOf(deviceKeys(space.store.space, { workspace: 'main', device }).backlog);
  const accountOf = (device: string) => String(491_600_000_100 + NAMES.indexOf(device));
  const loginsOf = (device: string) =>
    [...simulator.network.accounts.find(accountOf(device))!.devices.values()].map(({ logins }) => logins);

  it('stops only the devices of a node that goes away: all others stay connected, and send; these go on once it is back', async () => {
    const ports = cluster.shards.map(({ master }) => master.port);
    const devices = ports.flatMap((port) => NAMES.filter((name) => nodeOf(name) === port).slice(0, PER_NODE));
    expect(devices).to.have.length(PER_NODE * ports.length);
    // What the workspace itself needs is elsewhere.
    const home = portOf(workspaceKeys(space.store.space, 'main').devices);
    const { master } = cluster.shards.find(({ master }) => master.port !== home)!;
    const stopped = devices.filter((device) => nodeOf(device) === master.port);
    const others = devices.filter((device) => !stopped.includes(device));
    for (const device of devices) await gateway.link(accountOf(device), device);

    const listOf = (device: string) => makeNumbers(LIST, 1 + devices.indexOf(device));
    const areShown = (some: string[], text: string, count: number) =>
      eventually(() => some.every((device) => shown(accountOf(device), text).length >= count), {
        ...WITHIN,
        what: `${count} of ${text} are shown for each`,
      });
    for (const device of devices) await send(listOf(device), 'a list', device);
    await areShown(devices, 'a list', 5);
    const logins = others.map(loginsOf);

    let reader = await createApiToken(space.store, 'main', { name: 'of the workspace' });
    while (portOf(tokenIndexPartKey(space.store.space, reader.token.keyId)) === master.port)
      reader = await createApiToken(space.store, 'main', { name: 'of the workspace' });

    await master.kill();
    try {
      for (const device of others) {
        const [friend] = makeNumbers(1, 30 + devices.indexOf(device)) as [string];
        await eventually(async () => {
          const body = { to: friend, text: 'meanwhile' };
          const headers = { 'idempotency-key': device };
          return (await gateway.call('POST', '/send', { device, body, headers })).status === 202;
        }, WITHIN);
      }
      const refused = await gateway.call('POST', '/send', {
        device: stopped[0]!,
        body: { to: '447700900001', text: '-' },
      });
      expect([refused.status, refused.headers.get('retry-after') !== null]).to.deep.equal([503, true]);
      const authorization = `Bearer ${reader.value}`;
      const response = await fetch(`${gateway.baseUrl}/devices?limit=100`, { headers: { authorization } });
      expect(response.status).to.equal(200);
      const { devices: all } = (await response.json()) as { devices: { device: string }[] };
      const listed = new Map(all.map((each) => [each.device, each]));
      const unavailable = { backlog: null, status: 'connecting', reason: 'data_unavailable' };
      for (const device of stopped) expect(listed.get(device), device).to.deep.include(unavailable);
      for (const device of others) expect(listed.get(device), device).to.include({ status: 'connected' });
      await areShown(others, 'a list', LIST);
      await areShown(others, 'meanwhile', 1);
      for (const device of stopped) expect(shown(accountOf(device)).length, device).to.be.below(LIST);
      expect(others.map(loginsOf), 'logins').to.deep.equal(logins);
      expect(gateway.running(), 'processes').to.have.length(4);
    } finally {
      master.restart();
    }
    await areShown(stopped, 'a list', LIST);
    for (const device of devices)
      expect(shown(accountOf(device), 'a list').sort(), device).to.deep.equal(listOf(device).sort());
    expect(others.map(loginsOf), 'logins, also since then').to.deep.equal(logins);
  });
});
