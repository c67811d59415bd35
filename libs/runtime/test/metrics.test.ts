import { addMetrics, counter, createMetrics, gauge, histogram } from '@gateway/runtime/process/metrics';
import { expect } from 'chai';

const ABOUT = { help: 'Of a test.', question: 'Does it work?' };

describe('metrics', () => {
  it('have every closed value of their labels from the first scrape, so that the first event is an increase', async () => {
    const registry = createMetrics();
    const { acks } = addMetrics(registry, {
      acks: counter('gateway_acks_total', {
        ...ABOUT,
        labels: { kind: ['text', 'otp'], outcome: ['accepted', 'refused'] },
      }),
      waits: histogram('gateway_wait_duration_seconds', { ...ABOUT, labels: { kind: ['otp'] }, buckets: [1] }),
    });
    acks.inc({ kind: 'otp', outcome: 'refused' });
    const text = await registry.metrics();
    for (const series of [
      'gateway_acks_total{kind="text",outcome="accepted"} 0',
      'gateway_acks_total{kind="text",outcome="refused"} 0',
      'gateway_acks_total{kind="otp",outcome="accepted"} 0',
      'gateway_acks_total{kind="otp",outcome="refused"} 1',
      'gateway_wait_duration_seconds_bucket{le="1",kind="otp"} 0',
      'gateway_wait_duration_seconds_count{kind="otp"} 0',
    ])
      expect(text).to.include(series);
  });

  it('have only the values of an open label that came up, and only the combinations that there are', async () => {
    const registry = createMetrics();
    addMetrics(registry, {
      requests: counter('gateway_requests_total', { ...ABOUT, labels: { route: 'open', method: ['GET'] } }),
      devices: gauge('gateway_some_devices', {
        ...ABOUT,
        labels: { state: ['a', 'b'], reason: ['c', 'd'] },
        combinations: [{ state: 'a', reason: 'c' }],
      }),
    });
    const series = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(series).to.deep.equal(['gateway_some_devices{state="a",reason="c"} 0']);
  });

  it('are of their registry alone, and read when they are asked for', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    const specs = { devices: gauge('gateway_some_devices', ABOUT) };
    addMetrics(one, specs, { devices: async (devices) => devices.set(4) });
    addMetrics(other, specs);
    expect(await one.metrics()).to.include('gateway_some_devices 4');
    expect(await other.metrics()).to.include('gateway_some_devices 0');
  });
});
