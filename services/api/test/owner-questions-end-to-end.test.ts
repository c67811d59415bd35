import { deviceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { askAndWait } from '@gateway/store/devices/questions/ask-and-wait';
import { forgetPerson } from '@gateway/store/workspace/people';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { runCli } from '../../cli/test/support/run-cli.js';

const ACCOUNT = '491700000031';
const ADDRESS = { workspace: 'main', device: 'default' };

interface Result {
  phone: string;
  onMessenger: boolean | null;
  hasConversation: boolean | null;
}

describe('what the owner of a device is asked, end to end', () => {
  const { space, simulator, gateway } = useGateway({
    env: { SESSION_TTL_MS: '2000', LOG_LEVEL: 'debug', CONTACT_CHECKS_PER_DAY: '100000' },
  });

  before(async () => {
    await gateway.link(ACCOUNT);
  });

  async function check(phones: readonly string[]): Promise<Result[]> {
    const { value } = await createApiToken(space.store, 'main', { name: 'check', device: 'default' });
    const headers = { authorization: `Bearer ${value}` };
    const { status, body } = await gateway.call('POST', '/contacts/check', { body: { phones }, headers });
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.results;
  }
  const accepted = () => simulator.network.counters.acceptedStanzas;

  const cli = (...args: string[]) =>
    runCli(space, args, {
      env: { MESSENGER_URL: simulator.socketUrl, MESSENGER_TRUST: `root:${simulator.rootPublicKeyHex}` },
    });

  it('is how an account stands: namespace, salt, limits, version', async () => {
    const ask = async () => {
      const { stdout, stderr } = await cli('--json', 'device', 'doctor');
      expect(stderr).to.equal('');
      return { stdout, found: JSON.parse(stdout) };
    };
    // The salt comes with the history, soon after the account is linked.
    await eventually(async () => (await ask()).found.salt === 'yes');
    const { stdout, found } = await ask();
    expect(found).to.include({ device: 'default', status: 'connected', account: '491***31', network: 'a simulator' });
    expect(found).to.include({ namespace: 'lid', salt: 'yes', lock: 'none', newChatCap: 'none' });
    expect(found.lookUp).to.match(/^answered in \d+ ms$/);
    expect(found.version).to.match(/^2\.3000\.\d+ \(builtIn\)$/);
    expect(stdout).not.to.include(ACCOUNT);
  });

  it('is what comes and goes on its connection, without numbers, texts and codes', async () => {
    const [phone] = makeNumbers(1, 64) as [string];
    const traced = cli('--json', 'device', 'doctor', '--trace', '3');
    const answers = () => space.clients.commands.keys(`${deviceKeys(space.store.space, ADDRESS).base}:answer:*`);
    await eventually(async () => (await answers()).length > 0);
    expect((await gateway.call('POST', '/otp', { body: { phone, code: '731952' } })).status).to.equal(200);
    const { stdout } = await traced;
    const trace = (JSON.parse(stdout) as { stanza: string }[]).map(({ stanza }) => stanza);
    expect(
      trace.some((stanza) => /^\+\d+\.\d{3} > <message .*type=text/.test(stanza)),
      stdout,
    ).to.equal(true);
    expect(
      trace.some((stanza) => /^\+\d+\.\d{3} < <ack class=message/.test(stanza)),
      stdout,
    ).to.equal(true);
    for (const secret of [ACCOUNT, phone, '731952']) expect(stdout.includes(secret), 'a secret').to.equal(false);
    expect(stdout).not.to.match(/\d{11,}/);
  });

  it('is which numbers the network knows: nothing is sent, and no number is in logs and metrics', async () => {
    const [missing, ...others] = makeNumbers(250, 60) as [string, ...string[]];
    await fetch(`${simulator.adminUrl}/admin/phones/${missing}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ exists: false }),
    });
    const before = accepted();
    const results = await check([...others, missing]);
    expect(results.map(({ phone }) => phone)).to.deep.equal([...others, missing]);
    expect(results.filter(({ onMessenger }) => onMessenger === true)).to.have.length(others.length);
    expect(results.at(-1)).to.deep.equal({ phone: missing, onMessenger: false, hasConversation: false });
    expect(accepted()).to.equal(before);
    await gateway.api.waitForLog(({ message }) => message === 'contacts checked');
    const said = JSON.stringify([gateway.logs(), await gateway.metrics()]);
    for (const phone of [others[0]!, missing]) expect(said.includes(phone), 'a number in what is said').to.equal(false);
  });

  it('is with whom there is a conversation', async () => {
    const [friend, stranger] = makeNumbers(2, 61) as [string, string];
    await gateway.call('POST', '/otp', { body: { phone: friend, code: '482913' } });
    const results = await check([friend, stranger]);
    expect(results.map(({ hasConversation }) => hasConversation)).to.deep.equal([true, false]);
  });

  it('is to forget a person: what a lookup under way finds out about them is not kept either', async () => {
    const [phone] = makeNumbers(1, 65) as [string];
    const { faults } = simulator.network;
    const slow = faults.add({ on: 'iq', do: { delayMs: 1_500 }, match: { xmlns: 'usync' }, count: 1 });
    const checked = check([phone]);
    await eventually(() => slow.hits > 0);
    const deps = {
      store: space.store,
      clock: systemClock,
      doorbells: { on: () => () => {} },
      waits: { takenMs: 2_000 },
    };
    const question = { kind: 'forget', number: phone } as const;
    const asked = { question, parts: 1, timeoutMs: 20_000, signal: new AbortController().signal };
    const forgotten = await askAndWait(deps, ADDRESS, asked);
    expect(forgotten.has('0')).to.equal(true);
    expect(await checked).to.deep.equal([{ phone, onMessenger: true, hasConversation: false }]);
    expect(await forgetPerson(space.store, ADDRESS, phone), 'nothing was left').to.deep.equal({});
  });
});
