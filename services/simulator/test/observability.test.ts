import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { muteSignalLibrary } from './support/mute-signal-library.js';
import { useSimulator } from './support/simulator-fixture.js';
import { type Linked, linkByQr } from './support/stock-client.js';

describe('what can be seen from outside', () => {
  const network = useSimulator();
  let client: Linked;

  before(async () => {
    client = await network.link();
    await client.socket.sendMessage('4919100000001@s.whatsapp.net', { text: 'seen' });
    await eventually(() => network.simulator.network.counters.readReceipts === 1);
  });

  it('counts what happened, and how long it took by the kind of stanza, for Prometheus', async () => {
    const text = await (await fetch(`${network.simulator.adminUrl}/metrics`)).text();
    for (const line of [
      'simulator_pairings_total 1',
      'simulator_accepted_stanzas_total 1',
      'simulator_shown_total 1',
      'simulator_linked_devices 1',
      'simulator_sessions 1',
      'simulator_stanza_seconds_bucket{tag="message",le="+Inf"} 1',
      'simulator_stanza_seconds_count{tag="message"} 1',
    ]) {
      expect(text.split('\n')).to.include(line);
    }
  });

  it('lists devices, phones, messages and faults', async () => {
    await network.admin('POST', '/admin/faults', { on: 'iq', match: { xmlns: 'none' }, do: { error: 500 } });
    const view = async (path: string) => (await network.admin('GET', path)).body;
    expect(await view('/admin/accounts')).to.have.nested.property('0.devices.0.connected', true);
    const phones = (await view('/admin/phones')) as { number: string; shown: number }[];
    expect(phones.find(({ number }) => number === '4919100000001')).to.include({ shown: 1 });
    expect(await view('/admin/deliveries')).to.have.nested.property('0.text', 'seen');
    expect(await view('/admin/faults')).to.have.nested.property('rules.0.hits', 0);
  });
});

describe('the trace', () => {
  muteSignalLibrary();
  let child: ChildProcess;
  after(() => child.kill('SIGTERM'));

  it('is a line of readable text for every stanza, in both directions', async () => {
    const main = fileURLToPath(import.meta.resolve('@gateway/simulator/main'));
    child = fork(main, { env: { SIMULATOR_TRACE: 'true' }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const lines: string[] = [];
    createInterface({ input: child.stderr! }).on('line', (line) => lines.push(line));
    const [ready] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
    const { socket } = await linkByQr(JSON.parse(ready), {}, '4919100000002');
    const sent = await socket.sendMessage('4919100000003@s.whatsapp.net', { text: 'not in the trace' });
    const isTraced = (text: string) => eventually(() => lines.some((line) => line.includes(text)));
    await isTraced(`-> 4919100000002:1 <message id="${sent?.key.id}" to="4919100000003@s.whatsapp.net" type="text">`);
    await isTraced(`<- 4919100000002:1 <ack class="message" id="${sent?.key.id}" from="4919100000003@s.whatsapp.net"`);
    expect(lines.join('\n')).to.not.include('not in the trace');
    await socket.end(undefined);
  });
});
