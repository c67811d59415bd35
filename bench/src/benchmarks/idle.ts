import { sleep } from '@gateway/runtime/clock';
import { eventually } from '@gateway/testkit/eventually';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { Child } from '../baselines/child.js';
import type { StockMethods } from '../baselines/stock-main.js';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { linkDevices } from '../support/link-devices.js';
import { escapeGlob, measureMemory } from '../support/measure-memory.js';
import { readPeakBytes, readResidentBytes } from '../support/process-usage.js';
import { openStage, type Stage } from '../support/stage.js';
import { rounded } from '../support/statistics.js';

const DEVICES = 300;
const STOCK_CLIENTS = 60;
const SETTLE_MS = 5_000;
const BETWEEN_MS = 1_000;

/** What a device costs that only waits: its socket, its queue worker, its caches. */
export const idleBenchmark: Benchmark = {
  name: 'idle',
  summary: 'resident memory per idle device, 300 in one sender / per stock Baileys socket with keys in memory',
  goals: [{ figure: 'ratio', atMost: 0.7 }],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0, profile: '2025' });
    const { socketUrl, adminUrl } = stage.simulator;
    const network = { socketUrl, adminUrl };

    context.say(`linking ${STOCK_CLIENTS} stock clients`);
    const linker = new Child<StockMethods>(context.lifecycle, 'stock-main');
    const numbers = Array.from({ length: STOCK_CLIENTS }, (_, i) => String(999_200_000_000 + i));
    const states = await linker.call('link', { network, numbers });
    await linker.stop();
    // Both in a fresh process: what linking leaves behind is not what an idle socket costs.
    const stock = new Child<StockMethods>(context.lifecycle, 'stock-main');
    await stock.call('logIn', { network, states: [] });
    const stockEmpty = readResidentBytes(stock.pid);
    await stock.call('logIn', { network, states });

    const sender = await fillSender(stage, context);
    const stageOfToday = await openStage(context, { decryptSample: 0 });
    const today = await fillSender(stageOfToday, context);
    const redisBytesPerDevice = Math.round((await measureDevices(stageOfToday)) / DEVICES);
    const unit = 'MB per device';
    const share = (bytes: number, devices: number) => bytes / devices / 1024 / 1024;
    const perDevice = async (pid: number, empty: number, devices: number) => {
      await sleep(BETWEEN_MS);
      return share(readResidentBytes(pid) - empty, devices);
    };
    const peakPerDevice = rounded(share(readPeakBytes(today.pid) - today.empty, DEVICES));
    const found = await compare(context, {
      ours: () => perDevice(sender.pid, sender.empty, DEVICES),
      baseline: () => perDevice(stock.pid, stockEmpty, STOCK_CLIENTS),
      on2026: () => perDevice(today.pid, today.empty, DEVICES),
      unit,
    });
    return { ...found, unit, peakPerDevice, redisBytesPerDevice, devices: DEVICES, stockClients: STOCK_CLIENTS };
  },
};

/** A fresh sender with all devices connected, and what it weighed before the first. */
async function fillSender(stage: Stage, { say }: BenchContext): Promise<{ pid: number; empty: number }> {
  say(`linking ${DEVICES} devices`);
  await linkDevices(stage, DEVICES, say);
  await stage.gateway.senders[0]!.stop();
  const sender = await stage.gateway.addSender();
  const empty = readResidentBytes(sender.pid);
  await eventually(() => countConnected(sender) === DEVICES, { timeoutMs: 120_000, what: 'all devices connected' });
  await sleep(SETTLE_MS);
  return { pid: sender.pid, empty };
}

/** Bytes in Redis of all that there is of devices. */
function measureDevices({ space }: Stage): Promise<number> {
  return measureMemory(space.clients.commands, `${escapeGlob(space.store.space.prefix)}:*/fleet-*`);
}

function countConnected({ logs }: ServiceProcess): number {
  return new Set(logs.filter(({ message }) => message === 'device connected').map(({ device }) => device)).size;
}
