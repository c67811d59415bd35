import { createMetrics, makeCounter, makeGauge, makeHistogram } from '@gateway/runtime/process/metrics';
import { expect } from 'chai';

describe('metrics', () => {
  it('carry the name of the service', async () => {
    const registry = createMetrics('sender');
    makeCounter(registry, { name: 'gateway_acks_total', help: 'Acks.', labels: ['outcome'] }).inc({ outcome: 'ok' });
    expect(await registry.metrics()).to.include('gateway_acks_total{outcome="ok",service="sender"} 1');
  });

  it('of two registries do not meet', async () => {
    const [one, other] = [createMetrics('a'), createMetrics('a')];
    makeCounter(one, { name: 'gateway_acks_total', help: 'Acks.' }).inc();
    makeCounter(other, { name: 'gateway_acks_total', help: 'Acks.' });
    expect(await other.metrics()).to.include('gateway_acks_total{service="a"} 0');
  });

  it('may be read at the time they are asked for', async () => {
    const registry = createMetrics('a');
    makeGauge(registry, { name: 'gateway_devices', help: 'Devices.', collect: (gauge) => gauge.set(4) });
    expect(await registry.metrics()).to.include('gateway_devices{service="a"} 4');
  });

  it('of time count in seconds', async () => {
    const registry = createMetrics('a');
    makeHistogram(registry, { name: 'gateway_ack_seconds', help: 'Ack.', buckets: [1] }).observe(0.5);
    expect(await registry.metrics()).to.include('gateway_ack_seconds_bucket{le="1",service="a"} 1');
  });
});
