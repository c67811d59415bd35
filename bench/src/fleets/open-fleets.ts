import { Child } from '../baselines/child.js';
import type { StockFleetMethods } from '../baselines/stock-fleet-main.js';
import type { BenchContext } from '../support/benchmark.js';
import { linkDevices } from '../support/link-devices.js';
import { openStage, type Stage } from '../support/stage.js';

export interface Fleets {
  stage: Stage;
  /** Of the stage, by their names. */
  devices: readonly string[];
  /** As many processes as the stage has senders, with as many clients together as it has devices. */
  stock: readonly Child<StockFleetMethods>[];
}

const FIRST_STOCK_ACCOUNT = 999_600_000_000;

/** Our devices and stock clients, on one network of 2025. */
export async function openFleets(context: BenchContext, size: { devices: number; senders: number }): Promise<Fleets> {
  const { lifecycle, say } = context;
  const stage = await openStage(context, { decryptSample: 0.02, profile: '2025', senders: size.senders });
  const { socketUrl, adminUrl } = stage.simulator;
  const stock = Array.from({ length: size.senders }, () => new Child<StockFleetMethods>(lifecycle, 'stock-fleet-main'));
  const accounts = Array.from({ length: size.devices }, (_, i) => String(FIRST_STOCK_ACCOUNT + i));
  say(`linking ${size.devices} stock clients, and as many devices`);
  const [devices] = await Promise.all([
    linkDevices(stage, size.devices, say),
    ...stock.map((child, at) =>
      child.call('link', {
        network: { socketUrl, adminUrl },
        numbers: accounts.filter((_, i) => i % size.senders === at),
      }),
    ),
  ]);
  await stage.simulator.settle();
  return { stage, devices, stock };
}
