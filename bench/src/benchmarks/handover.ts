import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '@gateway/contracts/limits';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { linkDevices } from '../support/link-devices.js';
import { accept, waitForCounts } from '../support/send.js';
import { openStage, type Stage } from '../support/stage.js';
import { median, percentile, rounded } from '../support/statistics.js';

const ROUNDS = 5;
const LEASE_TTL_SECONDS = 10;
const FLEET = 50;
const ACCOUNT = '999100000001';
/** The list is long enough for what is sent until its owner ends, and until the next one is seen at work. */
const LIST = LIMITS.maxRecipients;

/** How long a device has no owner when its process is asked to stop, and when it is killed. */
export const handoverBenchmark: Benchmark = {
  name: 'handover',
  summary:
    'seconds from the SIGKILL of its sender until a device in mid-list has an open socket again / the ownership TTL',
  goals: [
    { figure: 'sigtermSeconds', atMost: 1 },
    { figure: 'sigkillSeconds', atMost: LEASE_TTL_SECONDS + 1 },
    { figure: 'resumeSeconds', atMost: LEASE_TTL_SECONDS + 2 },
    { figure: 'fleetP95Seconds', atMost: 3 },
  ],
  async run(context) {
    const stage = await openStage(context, {
      decryptSample: 0,
      env: { SESSION_TTL_MS: String(LEASE_TTL_SECONDS * 1000) },
    });
    await stage.gateway.link(ACCOUNT);
    const terms: Moved[] = [];
    const kills: Moved[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      terms.push(await moveInMidList(stage, 'SIGTERM'));
      kills.push(await moveInMidList(stage, 'SIGKILL'));
      const [term, kill] = [terms.at(-1)!, kills.at(-1)!];
      context.say(
        `round ${round + 1}: open ${rounded(term.openSeconds)} s after SIGTERM, ${rounded(kill.openSeconds)} s after ` +
          `SIGKILL, first ack after ${rounded(kill.ackSeconds)} s`,
      );
    }
    const fleetP95Seconds = await moveFleet(context, stage);
    const of = (moves: Moved[], time: keyof Moved) => rounded(median(moves.map((moved) => moved[time])));
    const sigkillSeconds = of(kills, 'openSeconds');
    return {
      ratio: rounded(sigkillSeconds / LEASE_TTL_SECONDS),
      ours: sigkillSeconds,
      baseline: LEASE_TTL_SECONDS,
      unit: 's',
      runs: ROUNDS,
      sigtermSeconds: of(terms, 'openSeconds'),
      sigkillSeconds,
      resumeSeconds: of(kills, 'ackSeconds'),
      fleetP95Seconds,
      leaseTtlSeconds: LEASE_TTL_SECONDS,
    };
  },
};

interface Moved {
  /** Until the next owner's socket was open. */
  openSeconds: number;
  /** Until the network had acknowledged a message of the next owner. */
  ackSeconds: number;
}

/** Ends the owner of the device in the middle of a list. A spare sender stands by. */
async function moveInMidList(stage: Stage, signal: 'SIGTERM' | 'SIGKILL'): Promise<Moved> {
  const { gateway } = stage;
  const to = makeNumbers(LIST);
  const spare = await gateway.addSender();
  const messageId = await accept(stage, { to });
  // Well under way.
  await waitForCounts(stage, { messageId, until: ({ queued }) => queued < LIST - 200 });
  const owner = await eventually(() => gateway.findOwner());
  // It may have gone to the spare sender already: then the other one is next.
  const next = owner === spare ? gateway.senders.find((each) => each !== spare && each.isRunning)! : spare;
  const acksBefore = await countAcks(next);
  const startedAtMs = Date.now();
  owner.signal(signal);
  const openSeconds = ((await connectedAtMs(next, 'default', startedAtMs)) - startedAtMs) / 1000;
  while ((await countAcks(next)) === acksBefore) await delay(10);
  const ackSeconds = (Date.now() - startedAtMs) / 1000;
  await owner.stop();
  await gateway.call('DELETE', `/messages/${messageId}`);
  await waitForCounts(stage, { messageId, until: ({ queued }) => queued === 0 });
  await stage.simulator.settle();
  return { openSeconds, ackSeconds };
}

async function moveFleet({ say }: BenchContext, stage: Stage): Promise<number> {
  const { gateway } = stage;
  const devices = ['default', ...(await linkDevices(stage, FLEET - 1, say))];
  const p95s: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const owner = gateway.senders.find(({ isRunning }) => isRunning)!;
    const next = await gateway.addSender();
    const startedAtMs = Date.now();
    owner.signal('SIGTERM');
    const opened = await Promise.all(devices.map((device) => connectedAtMs(next, device, startedAtMs)));
    await owner.stop();
    p95s.push(
      percentile(
        opened.map((atMs) => (atMs - startedAtMs) / 1000),
        0.95,
      ),
    );
    say(`${FLEET} devices, round ${round + 1}: p95 ${rounded(p95s.at(-1)!)} s after SIGTERM`);
  }
  return rounded(median(p95s));
}

/** When the sender said that this device's socket is open. */
async function connectedAtMs(sender: ServiceProcess, device: string, afterMs: number): Promise<number> {
  const line = await sender.waitForLog(
    (each) => each.message === 'device connected' && each.device === device && Date.parse(String(each.time)) >= afterMs,
    60_000,
  );
  return Date.parse(String(line.time));
}

/** Acknowledged messages, by the sender's own metrics. */
async function countAcks(sender: ServiceProcess): Promise<number> {
  const metrics = await sender.metrics();
  return Number(
    /^gateway_claim_to_ack_duration_seconds_count\{[^}]*kind="text"[^}]*outcome="accepted"[^}]*\} (\d+)$/m.exec(
      metrics,
    )?.[1] ?? 0,
  );
}
