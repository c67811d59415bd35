import type { StockMethods } from './stock-main.js';
import type { Benchmark } from './support/benchmark.js';
import { Child } from './support/child.js';
import { readResidentBytes } from './support/process-usage.js';
import { startSimulatorProcess } from './support/simulator-process.js';
import { rounded } from './support/statistics.js';

const CLIENTS = 1_000;
const BATCH = 50;
const LIMIT_MB = 500;
const MB = 1024 * 1024;

/** How many clients a simulator can hold: each of them a stock client, linked by QR, connected and quiet. */
export const linkedBenchmark: Benchmark = {
  name: 'linked',
  summary: 'resident memory of the simulator with 1,000 linked and connected stock clients / 500 MB',
  goal: '<= 1',
  async run({ lifecycle, say }) {
    const simulator = await startSimulatorProcess(lifecycle, { decryptSample: 1 });
    const { socketUrl, adminUrl } = simulator;
    // Two processes: the clients are many times heavier than what is measured.
    const stocks = [0, 1].map(() => new Child<StockMethods>(lifecycle, 'stock-main'));
    const empty = readResidentBytes(simulator.pid);
    let linked = 0;
    const linkHalf = async (stock: Child<StockMethods>, side: number) => {
      for (let first = 0; first < CLIENTS / 2; first += BATCH) {
        const numbers = Array.from({ length: BATCH }, (_, i) => String(999_400_000_000 + 2 * (first + i) + side));
        await stock.call('link', { network: { socketUrl, adminUrl }, numbers });
        linked += BATCH;
        say(`${linked} linked: ${rounded(readResidentBytes(simulator.pid) / MB)} MB`);
      }
    };
    await Promise.all(stocks.map(linkHalf));
    const megabytes = readResidentBytes(simulator.pid) / MB;
    const extra = { emptyMegabytes: rounded(empty / MB), sessions: await simulator.sessions() };
    return {
      ratio: rounded(megabytes / LIMIT_MB),
      ours: rounded(megabytes),
      baseline: LIMIT_MB,
      unit: 'MB',
      runs: 1,
      ...extra,
    };
  },
};
