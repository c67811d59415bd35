import { availableParallelism } from 'node:os';
import { makeNumbers } from '@gateway/testkit/phones';
import { fleetSize } from '../config.js';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { watchCpu } from '../support/process-usage.js';
import { timeUntilAllAcked } from '../support/send.js';
import { gatewayProcesses } from '../support/stage.js';
import { median, medianRatio, mediansByKind, rounded, sum } from '../support/statistics.js';
import { openFleets } from './open-fleets.js';

const WHOLE = { devices: 20, senders: availableParallelism() };
const RECIPIENTS = 500;
/** As many as a sender has. */
const IN_FLIGHT = 32;
const ROUNDS = 3;

/** Many lists at once: what does not grow with the fleet is shared out. */
export const fleetListsBenchmark: Benchmark = {
  name: 'fleet-lists',
  summary: `CPU per message of ${WHOLE.devices} devices with a list of ${RECIPIENTS} known people each, stock loops / ours, all processes and Redis`,
  goals: [{ figure: 'ratio', atLeast: 1 }],
  async run(context) {
    const size = fleetSize(WHOLE);
    const { stage, devices, stock } = await openFleets(context, size);
    const processes = { ours: await gatewayProcesses(stage), baseline: { stock: stock.map(({ pid }) => pid) } };
    /** Of ours. */
    const rounds: Record<string, number>[] = [];
    const messages = size.devices * RECIPIENTS;
    const numbers = makeNumbers(RECIPIENTS);
    const text = 'Hello from a benchmark';
    const rates = { ours: [] as number[], baseline: [] as number[] };
    const cpu = { ours: [] as number[], baseline: [] as number[] };
    const measure = async (side: keyof typeof cpu, send: () => Promise<unknown>) => {
      const used = watchCpu(processes[side]);
      const startedMs = performance.now();
      await send();
      rates[side].push(messages / ((performance.now() - startedMs) / 1000));
      await stage.simulator.settle();
      const byKind = used(messages);
      if (side === 'ours') rounds.push(byKind);
      cpu[side].push(sum(Object.values(byKind)));
      return cpu[side].at(-1)!;
    };
    const lists = devices.map((device) => ({ device, to: numbers, text }));
    const ours = () => measure('ours', () => timeUntilAllAcked(stage, lists));
    const baseline = () =>
      measure('baseline', () =>
        Promise.all(stock.map((child) => child.call('send', { numbers, text, inFlight: IN_FLIGHT }))),
      );
    context.say('first, both get to know the recipients');
    await ours();
    await baseline();
    for (const side of [rounds, ...[rates, cpu].flatMap((all) => Object.values(all))]) side.length = 0;
    const unit = 'ms of CPU per message';
    const found = await compare(context, { ours, baseline, unit, rounds: ROUNDS });
    const perSecond = { ours: rounded(median(rates.ours)), baseline: rounded(median(rates.baseline)) };
    return {
      ...found,
      unit,
      ratio: medianRatio(cpu.baseline, cpu.ours),
      perSecond,
      ofProcesses: mediansByKind(rounds),
      ...size,
    };
  },
};
