import type { StockMethods } from '../stock-main.js';
import type { BenchContext } from './benchmark.js';
import { Child } from './child.js';
import { timeUntilAcked } from './send.js';
import { openStage, type Stage } from './stage.js';

/** One device of the gateway and one stock client on the same network, each with an account of its own. */
export interface Race {
  stage: Stage;
  /** Messages per second to these recipients, until the last ack. */
  ours(to: readonly string[]): Promise<number>;
  baseline(to: readonly string[]): Promise<number>;
}

const OUR_ACCOUNT = '999100000001';
const STOCK_ACCOUNT = '999100000002';
/** As many as a sender has, so that neither side waits longer than the other. */
const IN_FLIGHT = 64;

export async function openRace(context: BenchContext): Promise<Race> {
  const stage = await openStage(context, { decryptSample: 0.02 });
  const { socketUrl, adminUrl, settle } = stage.simulator;
  const stock = new Child<StockMethods>(context.lifecycle, 'stock-main');
  await stock.call('link', { network: { socketUrl, adminUrl }, numbers: [STOCK_ACCOUNT] });
  await stage.gateway.link(OUR_ACCOUNT);
  await settle();
  const rate = async (to: readonly string[], ms: Promise<number>) => {
    const perSecond = to.length / ((await ms) / 1000);
    await settle();
    return perSecond;
  };
  return {
    stage,
    ours: (to) => rate(to, timeUntilAcked(stage, { to })),
    baseline: (to) =>
      rate(to, stock.call('send', { numbers: [...to], text: 'Hello from a benchmark', inFlight: IN_FLIGHT })),
  };
}
