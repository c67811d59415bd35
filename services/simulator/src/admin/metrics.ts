import { Counter, Gauge, type Metric, Registry } from 'prom-client';
import type { Gate } from '../gate/gate.js';
import type { Network } from '../network/network.js';

/** The counters and the sizes of things, in the text format of Prometheus. */
export function makeMetrics(network: Network, gate: Gate): Registry {
  const registry = new Registry();
  const { counters, accounts, phones } = network;
  for (const name of Object.keys(counters) as (keyof typeof counters)[]) {
    addCounter(registry, name, () => counters[name]);
  }
  const devices = () => [...accounts.all()].flatMap((account) => [...account.devices.values()]);
  addGauge(registry, 'sessions', 'Connections after their handshake', () => gate.sessions.size);
  addGauge(registry, 'linked_devices', 'Clients linked to accounts', () => devices().length);
  addGauge(registry, 'phones', 'Phones that something happened on', () => phones.size);
  addGauge(registry, 'waiting_stanzas', 'Stanzas that clients have not confirmed', () =>
    devices().reduce((sum, { mailbox }) => sum + mailbox.size, 0),
  );
  addGauge(registry, 'memory_bytes', 'Resident memory of the process', () => process.memoryUsage.rss());
  registry.registerMetric(network.handling as unknown as Metric);
  return registry;
}

function addCounter(registry: Registry, name: string, read: () => number): void {
  new Counter({
    name: `simulator_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_total`,
    help: `Counter ${name}, as in /admin/counters`,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name: `simulator_${name}`,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
