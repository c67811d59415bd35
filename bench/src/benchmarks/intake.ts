import { makeNumbers } from '@gateway/testkit/phones';
import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { Child } from '../baselines/child.js';
import type { StockMethods } from '../baselines/stock-main.js';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { type SimulatorProcess, startSimulatorProcess } from '../support/simulator-process.js';
import { median, rounded } from '../support/statistics.js';

const RECIPIENTS = 400;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 7;
const IN_FLIGHT = 20;
/**
 * At once, so that both sides work all the time: the two halves of a core are slower when both do, and who wakes up for
 * each stanza pays more for it than who finds many.
 */
const CLIENTS = ['999300000001', '999300000002', '999300000003'];

type StockClient = Child<StockMethods>;

interface Cost {
  /** Processor time per message. */
  simulatorMs: number;
  stockMs: number;
}

/** Whether a simulator on one core keeps up with three stock clients on three others, all phones decrypting. */
export const intakeBenchmark: Benchmark = {
  name: 'intake',
  summary: "processor time per message: a stock Baileys client's / the simulator's, every message decrypted",
  goals: [
    { figure: 'ratio', atLeast: 3.5 },
    { figure: 'strangers.ratio', atLeast: 3.5 },
  ],
  async run(context) {
    const simulator = await startSimulatorProcess(context.lifecycle, { decryptSample: 1, profile: '2025' });
    const { socketUrl, adminUrl } = simulator;
    const stocks: StockClient[] = [];
    for (const number of CLIENTS) {
      const stock: StockClient = new Child(context.lifecycle, 'stock-main');
      await stock.call('link', { network: { socketUrl, adminUrl }, numbers: [number] });
      stocks.push(stock);
    }
    const measure = (numbers: string[]) => measureCost({ simulator, stocks }, numbers);
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

/** All clients write to all numbers, at the same time. */
async function measureCost(
  { simulator, stocks }: { simulator: SimulatorProcess; stocks: StockClient[] },
  numbers: string[],
): Promise<Cost> {
  const cpuMs = () => {
    const stockMs = stocks.reduce((sum, { pid }) => sum + readCpuMs(pid), 0);
    return { simulatorMs: readCpuMs(simulator.pid), stockMs };
  };
  const send = { numbers, text: 'A message of usual length, for all of them.', inFlight: IN_FLIGHT };
  const before = cpuMs();
  await Promise.all(stocks.map((stock) => stock.call('send', send)));
  // The receipts belong to it, too.
  await simulator.settle();
  const after = cpuMs();
  const messages = numbers.length * stocks.length;
  return {
    simulatorMs: (after.simulatorMs - before.simulatorMs) / messages,
    stockMs: (after.stockMs - before.stockMs) / messages,
  };
}
