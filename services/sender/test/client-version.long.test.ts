import { clientVersionKeys } from '@gateway/contracts/redis-keys';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

describe('a version that is refused by mistake', () => {
  const { space, simulator, gateway } = useGateway({ senders: 2 });
  const devices = ['one', 'two'] as const;
  const numbers = makeNumbers(2, 32) as [string, string];

  before(async () => {
    for (const [index, device] of devices.entries()) await gateway.link(numbers[index]!, device);
  });

  const reasonOf = async (device: string) => (await gateway.call('GET', '/status', { device })).body.reason;
  const endAll = () => {
    for (const number of numbers) {
      for (const { connection } of simulator.network.accounts.find(number)!.devices.values())
        connection?.endStream(515);
    }
  };
  const arePaused = () =>
    eventually(async () => (await Promise.all(devices.map(reasonOf))).every((reason) => reason === 'client_outdated'), {
      ...{ everyMs: 300, what: 'the pause' },
    });
  const readPauseEnds = async () => {
    const states = await Promise.all(
      devices.map((device) => readDeviceState(space.store, { workspace: 'main', device })),
    );
    return states.map(({ observed }) => observed?.notBeforeMs).join();
  };
  /** As after half an hour. */
  const makeTrialDue = () => space.store.redis.del(clientVersionKeys(space.store.space).trial);

  it('is tried by one device at a time, and once one is let in all log in', async () => {
    const refusal = simulator.network.faults.add({ on: 'login', do: { error: 405 } });
    endAll();
    await arePaused();
    const refused = refusal.hits;
    const pauseEnds = await readPauseEnds();
    await makeTrialDue();
    await eventually(() => refusal.hits > refused, { what: 'a trial' });
    // The sender has heard of the refusal: it will not forbid the next trial once that is due.
    await eventually(async () => (await readPauseEnds()) !== pauseEnds, { what: 'another pause' });
    await arePaused();
    expect(refusal.hits, 'one login of one device').to.equal(refused + 1);
    simulator.network.faults.clear();
    await makeTrialDue();
    for (const device of devices) await gateway.waitForStatus('connected', device);
  });

  it('said to one device (409) is about that device', async () => {
    simulator.network.faults.add({ on: 'login', do: { error: 409 }, match: { account: numbers[0] } });
    endAll();
    await eventually(async () => (await reasonOf('one')) === 'client_outdated');
    await gateway.waitForStatus('connected', 'two');
    expect(await space.store.redis.exists(clientVersionKeys(space.store.space).refused)).to.equal(0);
  });
});
