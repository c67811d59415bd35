import type { StockMethods } from '../stock-main.js';
import type { BenchContext } from './benchmark.js';
import { Child } from './child.js';
import { readCpuMs } from './process-usage.js';
import { timeUntilAcked } from './send.js';
import { openStage, type Stage } from './stage.js';
import { median, rounded } from './statistics.js';

/** One device of the gateway and one stock client on the same network, each with an account of its own. */
export interface Race {
  stage: Stage;
  /** Messages per second to these recipients, until the last ack. */
  ours(to: readonly string[]): Promise<number>;
  baseline(to: readonly string[]): Promise<number>;
  /** Since it was asked last: median CPU per message, receipts included, of the sender and of the stock client. */
  takeCpu(): { ours: number; baseline: number };
}

const OUR_ACCOUNT = '999100000001';
const STOCK_ACCOUNT = '999100000002';
/** As many as a sender has, so that neither side waits longer than the other. */
const IN_FLIGHT = 32;

export async function openRace(context: BenchContext): Promise<Race> {
  const stage = await openStage(context, { decryptSample: 0.02 });
  const { socketUrl, adminUrl, settle } = stage.simulator;
  const stock = new Child<StockMethods>(context.lifecycle, 'stock-main');
  await stock.call('link', { network: { socketUrl, adminUrl }, numbers: [STOCK_ACCOUNT] });
  await stage.gateway.link(OUR_ACCOUNT);
  await settle();
  const sender = stage.gateway.senders[0]!;
  const cpu = { ours: [] as number[], baseline: [] as number[] };
  const rate = async (side: keyof typeof cpu, to: readonly string[], send: () => Promise<number>) => {
    const { pid } = side === 'ours' ? sender : stock;
    const cpuBefore = readCpuMs(pid);
    const ms = await send();
    await settle();
    cpu[side].push((readCpuMs(pid) - cpuBefore) / to.length);
    return to.length / (ms / 1000);
  };
  const text = 'Hello from a benchmark';
  return {
    stage,
    ours: (to) => rate('ours', to, () => timeUntilAcked(stage, { to, text })),
    baseline: (to) => rate('baseline', to, () => stock.call('send', { numbers: [...to], text, inFlight: IN_FLIGHT })),
    takeCpu: () => ({ ours: rounded(median(cpu.ours.splice(0))), baseline: rounded(median(cpu.baseline.splice(0))) }),
  };
}
