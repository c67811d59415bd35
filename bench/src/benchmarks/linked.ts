import { Child } from '../baselines/child.js';
import type { StockMethods } from '../baselines/stock-main.js';
import type { Benchmark } from '../support/benchmark.js';
import { readResidentBytes } from '../support/process-usage.js';
import { startSimulatorProcess } from '../support/simulator-process.js';
import { rounded } from '../support/statistics.js';

const CLIENTS = 1_000;
const PROCESSES = 5;
const BATCH = 20;
const LIMIT_MB = 500;
const MB = 1024 * 1024;

/** How many clients a simulator can hold: each of them a stock client, linked by QR, connected and quiet. */
export const linkedBenchmark: Benchmark = {
  name: 'linked',
  summary: 'resident memory of the simulator with 1,000 linked and connected stock clients / 500 MB',
  goals: [{ figure: 'ratio', atMost: 1 }],
  async run({ lifecycle, say }) {
    const simulator = await startSimulatorProcess(lifecycle, { decryptSample: 1, profile: '2025' });
    const { socketUrl, adminUrl } = simulator;
    // Several processes: the clients are many times heavier than what is measured, and must answer in time.
    const stocks = Array.from({ length: PROCESSES }, () => new Child<StockMethods>(lifecycle, 'stock-main'));
    const empty = readResidentBytes(simulator.pid);
    let linked = 0;
    const linkShare = async (stock: Child<StockMethods>, side: number) => {
      for (let first = 0; first < CLIENTS / PROCESSES; first += BATCH) {
        const numbers = Array.from({ length: BATCH }, (_, i) =>
          String(999_400_000_000 + PROCESSES * (first + i) + side),
        );
        await stock.call('link', { network: { socketUrl, adminUrl }, numbers });
        linked += BATCH;
        say(`${linked} linked: ${rounded(readResidentBytes(simulator.pid) / MB)} MB`);
      }
    };
    await Promise.all(stocks.map(linkShare));
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
