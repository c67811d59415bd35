import { makeNumbers } from '@gateway/testkit/phones';
import type { StockMethods } from './stock-main.js';
import type { BenchContext, Benchmark } from './support/benchmark.js';
import { Child } from './support/child.js';
import { readCpuMs } from './support/process-usage.js';
import { type SimulatorProcess, startSimulatorProcess } from './support/simulator-process.js';
import { median, rounded } from './support/statistics.js';

const RECIPIENTS = 1_000;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 7;
const IN_FLIGHT = 20;

interface Cost {
  /** Processor time per message. */
  simulatorMs: number;
  stockMs: number;
}

/** Whether a simulator on one core keeps up with three stock clients on three others, all phones decrypting. */
export const intakeBenchmark: Benchmark = {
  name: 'intake',
  summary: "processor time per message: a stock Baileys client's / the simulator's, every message decrypted",
  goal: '>= 3',
  async run(context) {
    const simulator = await startSimulatorProcess(context.lifecycle, { decryptSample: 1 });
    const stock = new Child<StockMethods>(context.lifecycle, 'stock-main');
    const { socketUrl, adminUrl } = simulator;
    await stock.call('link', { network: { socketUrl, adminUrl }, numbers: ['999300000001'] });
    const measure = (numbers: string[]) => measureCost({ simulator, stock }, numbers);
    const known = makeNumbers(RECIPIENTS);
    // What both sides run over and over is compiled, after a while, into something faster.
    for (let round = 0; round < WARM_UP_ROUNDS; round++) await measure(known);
    const warm = await repeat(context, 'known recipients', () => measure(known));
    const cold = await repeat(context, 'strangers', (round) => measure(makeNumbers(RECIPIENTS / 2, 100 + round)));
    return { ...warm, unit: 'messages per second of processor time', runs: ROUNDS, strangers: cold };
  },
};

async function repeat({ say }: BenchContext, label: string, measure: (round: number) => Promise<Cost>) {
  const costs: Cost[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const cost = await measure(round);
    costs.push(cost);
    say(`${label}: simulator ${rounded(cost.simulatorMs)} ms, stock client ${rounded(cost.stockMs)} ms a message`);
  }
  const simulatorMs = median(costs.map((cost) => cost.simulatorMs));
  const stockMs = median(costs.map((cost) => cost.stockMs));
  return {
    ratio: rounded(stockMs / simulatorMs),
    ours: rounded(1000 / simulatorMs),
    baseline: rounded(1000 / stockMs),
  };
}

async function measureCost(
  { simulator, stock }: { simulator: SimulatorProcess; stock: Child<StockMethods> },
  numbers: string[],
): Promise<Cost> {
  const cpuMs = () => [readCpuMs(simulator.pid), readCpuMs(stock.pid)];
  const before = cpuMs();
  await stock.call('send', { numbers, text: 'A message of usual length, for all of them.', inFlight: IN_FLIGHT });
  // The receipts belong to it, too.
  await simulator.settle();
  const after = cpuMs();
  const [simulatorMs, stockMs] = after.map((ms, side) => (ms - before[side]!) / numbers.length);
  return { simulatorMs: simulatorMs!, stockMs: stockMs! };
}
