import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { Child } from '../baselines/child.js';
import type { StockMethods } from '../baselines/stock-main.js';
import type { BenchContext } from './benchmark.js';
import { timeUntilAcked } from './send.js';
import { openStage } from './stage.js';
import { median, medianRatio, rounded } from './statistics.js';

/** Medians of all rounds. `ratio` is baseline / ours, round by round. */
export interface RaceCpu {
  msPerMessage: { ours: number; baseline: number; on2026: number };
  ratio: number;
}

/**
 * One device of the gateway and one stock client on the same network of 2025, each with an account of its own, and another
 * gateway on the network of 2026.
 */
export interface Race {
  setRoundTripMs(ms: number): Promise<void>;
  /** Messages per second to these recipients, until the last ack. */
  ours(to: readonly string[]): Promise<number>;
  baseline(to: readonly string[]): Promise<number>;
  on2026(to: readonly string[]): Promise<number>;
  /** Since it was asked last: CPU per message, receipts included, of the sender and of the stock client. */
  takeCpu(): RaceCpu;
}

const OUR_ACCOUNT = '999100000001';
const STOCK_ACCOUNT = '999100000002';
/** As many as a sender has, so that neither side waits longer than the other. */
const IN_FLIGHT = 32;

export async function openRace(context: BenchContext): Promise<Race> {
  const stage = await openStage(context, { decryptSample: 0.02, profile: '2025' });
  const today = await openStage(context, { decryptSample: 0.02 });
  const { socketUrl, adminUrl } = stage.simulator;
  const stock = new Child<StockMethods>(context.lifecycle, 'stock-main');
  await stock.call('link', { network: { socketUrl, adminUrl }, numbers: [STOCK_ACCOUNT] });
  for (const { gateway, simulator } of [stage, today]) {
    await gateway.link(OUR_ACCOUNT);
    await simulator.settle();
  }
  const pids = { ours: stage.gateway.senders[0]!.pid, baseline: stock.pid, on2026: today.gateway.senders[0]!.pid };
  const cpu = { ours: [] as number[], baseline: [] as number[], on2026: [] as number[] };
  const rate = async (side: keyof typeof cpu, to: readonly string[], send: () => Promise<number>) => {
    const cpuBefore = readCpuMs(pids[side]);
    const ms = await send();
    await (side === 'on2026' ? today : stage).simulator.settle();
    cpu[side].push((readCpuMs(pids[side]) - cpuBefore) / to.length);
    return to.length / (ms / 1000);
  };
  const text = 'Hello from a benchmark';
  const takeCpu = () => {
    const [ours, baseline, on2026] = [cpu.ours.splice(0), cpu.baseline.splice(0), cpu.on2026.splice(0)];
    const [ofOurs, ofBaseline, of2026] = [ours, baseline, on2026].map((all) => rounded(median(all))) as [
      number,
      number,
      number,
    ];
    return { msPerMessage: { ours: ofOurs, baseline: ofBaseline, on2026: of2026 }, ratio: medianRatio(baseline, ours) };
  };
  return {
    setRoundTripMs: async (ms) => {
      for (const { simulator } of [stage, today]) await simulator.setRoundTripMs(ms);
    },
    ours: (to) => rate('ours', to, () => timeUntilAcked(stage, { to, text })),
    baseline: (to) => rate('baseline', to, () => stock.call('send', { numbers: [...to], text, inFlight: IN_FLIGHT })),
    on2026: (to) => rate('on2026', to, () => timeUntilAcked(today, { to, text })),
    takeCpu,
  };
}
