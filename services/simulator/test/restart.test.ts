import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { muteSignalLibrary } from './support/mute-signal-library.js';
import { linkByQr, logIn } from './support/stock-client.js';

interface Started {
  readonly child: ChildProcess;
  readonly socketUrl: string;
  readonly adminUrl: string;
  readonly rootPublicKeyHex: string;
}

const MAIN = fileURLToPath(import.meta.resolve('@gateway/simulator/main'));

/** The simulator as people run it. It ends with us, too. */
async function startProcess(stateFile: string): Promise<Started> {
  const child = fork(MAIN, {
    env: { SIMULATOR_STATE_FILE: stateFile },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { child, ...JSON.parse(line) };
}

/** A stock client shows no tokens. */
const OF_STOCK = { tokensRequired: false };

async function ask(adminUrl: string, path: string, request?: RequestInit): Promise<unknown> {
  return (await fetch(adminUrl + path, request)).json();
}

describe('a restart of the whole server', () => {
  muteSignalLibrary();

  it('keeps clients linked, sessions working and inboxes as they were', async () => {
    const first = await startSimulator({ seed: 'restart' });
    Object.assign(first.network.accounts.ensure('4912000000001'), OF_STOCK);
    const client = await linkByQr(first, {}, '4912000000001');
    const jid = first.network.directory.jidOf('4912000000002', 'lid');
    await client.socket.sendMessage(jid, { text: 'before' });
    await eventually(() => [...first.network.phones.phone('4912000000002').inbox.rows()].length === 1);
    await client.socket.end(undefined);
    const state = first.saveState();
    await first.close();

    const second = await startSimulator({ seed: 'restart', state });
    const back = await logIn(second, client.state);
    await back.socket.sendMessage(jid, { text: 'after' });
    await eventually(() => {
      const texts = [...second.network.phones.phone('4912000000002').inbox.rows()].map(({ text }) => text);
      return expect(texts).to.deep.equal(['before', 'after']);
    });
    expect(second.network.counters.decryptFailures).to.equal(0);
    await back.socket.end(undefined);
    await second.close();
  });

  it('keeps what waits for a phone that is off', async () => {
    const first = await startSimulator({ seed: 'waiting' });
    const client = await linkByQr(first);
    Object.assign(first.network.accounts.ensure(client.number), OF_STOCK);
    first.network.phones.setHabits('4912000000003', { online: false });
    const jid = first.network.directory.jidOf('4912000000003', 'lid');
    await client.socket.sendMessage(jid, { text: 'later' });
    await eventually(() => first.network.counters.acks === 1);
    await client.socket.end(undefined);
    const state = first.saveState();
    await first.close();

    const second = await startSimulator({ seed: 'waiting', state });
    second.network.phones.setHabits('4912000000003', { online: true });
    second.office.phones.wake('4912000000003');
    const { inbox } = second.network.phones.phone('4912000000003');
    await eventually(() => expect([...inbox.rows()].map(({ text }) => text)).to.deep.equal(['later']));
    await second.close();
  });

  it('loses a second at most when it is killed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'simulator-'));
    const stateFile = join(folder, 'state');
    const first = await startProcess(stateFile);
    const change = (number: string) =>
      ask(first.adminUrl, `/admin/accounts/${number}`, { method: 'PUT', body: JSON.stringify(OF_STOCK) });
    await change('4912000000004');
    const { lid: jid } = (await change('4912000000005')) as { lid: string };
    const client = await linkByQr(first, {}, '4912000000004');
    await client.socket.sendMessage(jid, { text: 'before' });
    const textsOf = async ({ adminUrl }: Started) => {
      const rows = (await ask(adminUrl, '/admin/phones/4912000000005/messages')) as { text: string }[];
      return rows.map(({ text }) => text);
    };
    await eventually(async () => expect(await textsOf(first)).to.deep.equal(['before']));
    const shownAtMs = Date.now();
    await eventually(async () => {
      const { savedAtMs } = (await ask(first.adminUrl, '/admin/info')) as { savedAtMs: number };
      return savedAtMs > shownAtMs;
    });
    await client.socket.end(undefined);
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');

    const second = await startProcess(stateFile);
    const back = await logIn(second, client.state);
    await back.socket.sendMessage(jid, { text: 'after' });
    await eventually(async () => expect(await textsOf(second)).to.deep.equal(['before', 'after']));
    expect(await ask(second.adminUrl, '/admin/counters')).to.include({ decryptFailures: 0, pairings: 0 });
    await back.socket.end(undefined);
    second.child.kill('SIGTERM');
    await once(second.child, 'exit');
    await rm(folder, { recursive: true });
  });

  it('keeps what it knows of people and tokens, and starts with the usual where an older state says nothing', async () => {
    const first = await startSimulator({ seed: 'identities' });
    const [person, account] = ['4912000000006', '4912000000007'];
    const { directory } = first.network;
    const nameless = directory.identities.addWithoutNumber('77001234567891');
    directory.renewLid(person);
    const lid = directory.jidOf(person, 'lid');
    Object.assign(first.network.accounts.ensure(account), { addressing: 'pn', hasSalt: false });
    first.network.accounts.ensure(account).tokens.set(person, [1_790_000_000]);
    const state = first.saveState();
    await first.close();

    const second = await startSimulator({ seed: 'identities', state });
    expect(second.network.directory.jidOf(person, 'lid')).to.equal(lid);
    expect(second.network.directory.resolve('77001234567891@lid')).to.include({ number: nameless });
    expect(second.network.accounts.ensure(account)).to.include({ addressing: 'pn', hasSalt: false });
    expect(second.network.accounts.ensure(account).tokens.get(person)).to.deep.equal([1_790_000_000]);
    await second.close();

    const older = deserialize(state);
    delete older.identities;
    for (const { own, sets } of older.accounts.accounts) {
      for (const name of ['addressing', 'tokensRequired', 'hasSalt']) delete own[name];
      delete sets.tokens;
    }
    const third = await startSimulator({ seed: 'identities', state: serialize(older) });
    expect(third.network.accounts.ensure(account)).to.include({
      addressing: 'lid',
      hasSalt: true,
      tokensRequired: true,
    });
    expect(third.network.accounts.ensure(account).tokens.size).to.equal(0);
    await third.close();
  });

  it('refuses the state of another network', async () => {
    const one = await startSimulator({ seed: 'one' });
    const state = one.saveState();
    await one.close();
    const other = await startSimulator({ seed: 'other', state }).catch((error: Error) => error);
    expect(other).to.have.property('message', 'state has another seed');
  });
});
