import { makeNumbers } from '@gateway/testkit/phones';
import { makeTokens } from '../http/count-answers.js';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { type Comparison, compare } from '../support/compare.js';
import { cpuMsOf } from '../support/process-usage.js';
import { accept, timeUntilAcked, waitForCounts } from '../support/send.js';
import { gatewayPids, openStage, type Stage } from '../support/stage.js';
import { median, medianRatio, rounded } from '../support/statistics.js';

const ACCOUNT = '999100000001';
const SENDS = 500;
const CALLERS = 20;
const ROUNDS = 5;
const UNIT = 'messages/s';

/** Callers who send one by one, beside one who knows the whole list. */
export const singlesBenchmark: Benchmark = {
  name: 'singles',
  summary: `messages/s of ${SENDS} sends with one recipient each, from ${CALLERS} callers / of one list of them, known people at 0 ms and strangers at 100 ms; CPU per message of all processes`,
  goals: [
    { figure: 'knownRatio', atLeast: 0.8 },
    { figure: 'strangersRatio', atLeast: 0.6 },
    { figure: 'cpuRatio', atMost: 1.6 },
  ],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0.02 });
    await stage.gateway.link(ACCOUNT);
    const people = makeNumbers(SENDS);
    context.say('first, the device gets to know the recipients');
    await timeUntilAcked(stage, { to: people });
    await sendSingly(stage, people);
    await stage.simulator.settle();
    const known = await race(context, stage, { label: 'known, ', people: () => people });
    await stage.simulator.setRoundTripMs(100);
    const newPeople = strangers();
    const unknown = await race(context, stage, { label: 'strangers, ', people: newPeople });
    const { ours, baseline, runs } = known;
    return {
      ...{ ratio: known.ratio, ours, baseline, unit: UNIT, runs },
      ...{ knownRatio: known.ratio, strangersRatio: unknown.ratio, cpuRatio: known.cpuRatio },
      cpuMsPerMessage: known.cpuMsPerMessage,
      strangers: { ours: unknown.ours, baseline: unknown.baseline, cpuRatio: unknown.cpuRatio },
    };
  },
};

/** Other people each time. */
function strangers(): () => string[] {
  let series = 100;
  return () => makeNumbers(SENDS, series++);
}

interface Race extends Comparison {
  cpuRatio: number;
  cpuMsPerMessage: { ours: number; baseline: number };
}

async function race(
  context: BenchContext,
  stage: Stage,
  { label, people }: { label: string; people(): string[] },
): Promise<Race> {
  const cpu = { ours: [] as number[], baseline: [] as number[] };
  const pids = await gatewayPids(stage);
  const rate = async (side: keyof typeof cpu, send: (to: string[]) => Promise<number>) => {
    const before = cpuMsOf(pids);
    const ms = await send(people());
    await stage.simulator.settle();
    cpu[side].push((cpuMsOf(pids) - before) / SENDS);
    return SENDS / (ms / 1000);
  };
  const found = await compare(context, {
    ours: () => rate('ours', (to) => sendSingly(stage, to)),
    baseline: () => rate('baseline', (to) => timeUntilAcked(stage, { to })),
    ...{ unit: UNIT, rounds: ROUNDS, label },
  });
  const cpuMsPerMessage = { ours: rounded(median(cpu.ours)), baseline: rounded(median(cpu.baseline)) };
  return { ...found, cpuRatio: medianRatio(cpu.ours, cpu.baseline), cpuMsPerMessage };
}

/** From before the first request until the last ack is recorded, in ms. Each caller has a token of its own, and waits for its answer. */
async function sendSingly(stage: Stage, to: readonly string[]): Promise<number> {
  const nextToken = await makeTokens(stage, CALLERS);
  const left = to.values();
  const messageIds: string[] = [];
  const startedMs = performance.now();
  const sendInTurn = async () => {
    const token = nextToken();
    for (const number of left) messageIds.push(await accept(stage, { to: number, token }));
  };
  await Promise.all(Array.from({ length: CALLERS }, sendInTurn));
  for (const messageId of messageIds) await waitForCounts(stage, { messageId, until: ({ queued }) => queued === 0 });
  return performance.now() - startedMs;
}
