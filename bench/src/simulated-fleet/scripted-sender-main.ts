import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import type { Registry } from '@gateway/runtime/process/metrics';
import { startProcessHost } from '@gateway/runtime/process/process-host';
import type { RedisPurpose } from '@gateway/runtime/redis/redis-clients';
import { readSenderConfig } from '@gateway/sender/config';
import type { ProcessDeps } from '@gateway/sender/deps';
import { runSender, SENDER_CONNECTIONS } from '@gateway/sender/run-sender';
import { ScriptedSession } from '@gateway/testkit/scripted-session';
import { serve } from '../baselines/child.js';

/** How a sender stands. */
export interface SenderFigures {
  /** Devices whose session is open. */
  open: number;
  residentBytes: number;
  /** Of what happened since it was asked last. The monitor looks every 10 ms, which is the least there is. */
  loopDelayP99Ms: number;
}

const NS_PER_MS = 1e6;

/** The role `sender` as in production, but that its sessions have no socket: each is open at once, and nothing ever comes. */
const methods = {
  /** Answers when it runs, and has begun to claim devices. */
  start: async (): Promise<void> => {
    const config = readSenderConfig();
    const lifecycle = new Lifecycle({ logger: createLogger({ service: 'sender' }) });
    const host = await startProcessHost<RedisPurpose>(lifecycle, {
      name: 'sender',
      config,
      purposes: SENDER_CONNECTIONS,
    });
    await runSender(config, host, { openSession: openScripted });
    host.started();
    registry = host.registry;
  },
  look: async (): Promise<SenderFigures> => {
    const loopDelayP99Ms = delay.percentile(99) / NS_PER_MS;
    delay.reset();
    return { open: await countOpen(), residentBytes: process.memoryUsage.rss(), loopDelayP99Ms };
  },
};

export type ScriptedSenderMethods = typeof methods;

const openScripted: ProcessDeps['openSession'] = async ({ onEvent }) => {
  const session = new ScriptedSession({}, onEvent);
  const account = { jid: '999600000000@s.whatsapp.net', phone: '999600000000' };
  setImmediate(() => void session.report({ kind: 'open', account }));
  return session;
};

async function countOpen(): Promise<number> {
  const devices = await registry?.getSingleMetric('gateway_owned_devices')?.get();
  return devices?.values.find(({ labels }) => labels.phase === 'open')?.value ?? 0;
}

let registry: Registry | undefined;
const delay = monitorEventLoopDelay();
delay.enable();
serve(methods);
