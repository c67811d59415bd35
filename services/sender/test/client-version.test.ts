import type { Session } from '@gateway/simulator/sessions/session';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { runCli } from '../../cli/test/support/run-cli.js';

const REFUSAL = 'the network refuses this version of the client: no device logs in until another one is set';

describe('the version of the client, end to end', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  const [one, two] = makeNumbers(2, 31) as [string, string];

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator, senders: 2, env: { MESSENGER_VERSION: '2.3000.1043857761' } });
    await gateway.link(one, 'one');
    await gateway.link(two, 'two');
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const clientOf = (number: string) => [...simulator.network.accounts.find(number)!.devices.values()][0]!;
  const versionOf = (number: string) =>
    (clientOf(number).connection as Session | undefined)?.payload.userAgent?.appVersion?.tertiary;
  const status = async (device: string) => (await gateway.call('GET', '/status', { device })).body;
  const isPaused = (device: string) =>
    eventually(async () => (await status(device)).reason === 'client_outdated', { everyMs: 500, what: device });
  const logLines = () => gateway.logs().filter((line) => line.msg === REFUSAL || line.message === REFUSAL);
  async function cli(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCli(space, args);
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it('is the one of the setting', () => {
    expect(versionOf(one)).to.equal(1_043_857_761);
  });

  it('refused once (405), no device of any process logs in with it, and one line says so', async () => {
    const refusal = simulator.network.faults.add({ on: 'login', do: { error: 405 }, count: 1 });
    clientOf(one).connection!.endStream(515);
    await isPaused('one');
    expect(refusal.hits).to.equal(1);
    const { connections } = simulator.network.counters;
    clientOf(two).connection!.endStream(515);
    await isPaused('two');
    expect(simulator.network.counters.connections).to.equal(connections);
    expect(logLines()).to.have.length(1);
    const metrics = (await gateway.metrics()).join('\n');
    expect(metrics).to.match(/gateway_client_version_refused 1/);
  });

  it('refused, an account is not logged out to link another in its place', async () => {
    const { status: http, body } = await gateway.call('POST', '/connect?forceNew=true', { device: 'one' });
    expect(http).to.equal(409);
    expect(body.details[0].message).to.include('refuses this version');
    expect(simulator.network.accounts.find(one)!.devices.size).to.equal(1);
    expect((await status('one')).status).to.equal('connecting');
  });

  it('set again on the command line, all devices log in again at once, with that version', async () => {
    simulator.network.settings.clientExpirationMs = 1_800_000_000_000;
    const shown = JSON.parse(await cli('--json', 'version', 'set', '2.3000.1043999999'));
    expect(shown).to.include({ version: '2.3000.1043999999', source: 'runtime', refused: false });
    await gateway.waitForStatus('connected', 'one', 4_000);
    await gateway.waitForStatus('connected', 'two', 4_000);
    expect([versionOf(one), versionOf(two)]).to.deep.equal([1_043_999_999, 1_043_999_999]);
    const metrics = () => gateway.metrics().then((texts) => texts.join('\n'));
    expect(await metrics()).to.match(/gateway_client_version_age_seconds \d/);
    await eventually(async () => /_expires_timestamp_seconds 1800000000/.test(await metrics()));
  });
});
