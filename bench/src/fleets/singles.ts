import { deviceKeys } from '@gateway/contracts/redis-keys';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { Pool } from 'undici';
import { apiPort, makeTokens } from '../http/count-answers.js';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { type Comparison, compare } from '../support/compare.js';
import { watchCpu } from '../support/process-usage.js';
import { POLL_MS, timeUntilAcked, waitForCounts } from '../support/send.js';
import { gatewayProcesses, openStage, type Stage } from '../support/stage.js';
import { median, medianRatio, mediansByKind, rounded, sum } from '../support/statistics.js';

const ACCOUNT = '999100000001';
const DEVICE = { workspace: 'main', device: 'default' };
const SENDS = 500;
const CALLERS = 20;
/** They take a second each, and differ by a tenth: with seven of them the ratio does by 0.03 from run to run. */
const ROUNDS = 21;
/** They take three times as long, and differ less. */
const ROUNDS_OF_STRANGERS = 7;
/** A process that has sent little compiles for longer than it sends; those of users run for days. */
const ROUNDS_BEFORE = 6;
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
    // As many connections as callers, each kept open. With `fetch` the callers would take as much of the machine as the API.
    const api = new Pool(`http://127.0.0.1:${apiPort(stage)}`, { connections: CALLERS, pipelining: 1 });
    context.lifecycle.add('callers', () => api.close());
    context.say('first, the device gets to know the recipients, and the processes are warm');
    for (let round = 0; round < ROUNDS_BEFORE; round++) {
      await timeUntilAcked(stage, { to: people });
      await checkAcked(stage, (await sendSingly(stage, api, people)).messageIds);
    }
    await stage.simulator.settle();
    const known = await race(context, stage, api, { label: 'known, ', rounds: ROUNDS, people: () => people });
    await stage.simulator.setRoundTripMs(100);
    const newPeople = strangers();
    const unknown = await race(context, stage, api, {
      label: 'strangers, ',
      rounds: ROUNDS_OF_STRANGERS,
      people: newPeople,
    });
    const { ours, baseline, runs } = known;
    return {
      ...{ ratio: known.ratio, ours, baseline, unit: UNIT, runs },
      ...{ knownRatio: known.ratio, strangersRatio: unknown.ratio, cpuRatio: known.cpuRatio },
      ...{ cpuMsPerMessage: known.cpuMsPerMessage, ofProcesses: known.ofProcesses },
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
  /** The same of each kind of process. */
  ofProcesses: { ours: Record<string, number>; baseline: Record<string, number> };
}

async function race(
  context: BenchContext,
  stage: Stage,
  api: Pool,
  { label, rounds, people }: { label: string; rounds: number; people(): string[] },
): Promise<Race> {
  const cpu = { ours: [] as Record<string, number>[], baseline: [] as Record<string, number>[] };
  const processes = await gatewayProcesses(stage);
  const rate = async (side: keyof typeof cpu, send: (to: string[]) => Promise<Sent>) => {
    const used = watchCpu(processes);
    const { tookMs, messageIds } = await send(people());
    await stage.simulator.settle();
    cpu[side].push(used(SENDS));
    await checkAcked(stage, messageIds);
    return SENDS / (tookMs / 1000);
  };
  const found = await compare(context, {
    ours: () => rate('ours', (to) => sendSingly(stage, api, to)),
    baseline: () => rate('baseline', async (to) => ({ tookMs: await timeUntilAcked(stage, { to }), messageIds: [] })),
    ...{ unit: UNIT, rounds, label },
  });
  const [ours, baseline] = [totals(cpu.ours), totals(cpu.baseline)];
  const ofProcesses = { ours: mediansByKind(cpu.ours), baseline: mediansByKind(cpu.baseline) };
  const cpuMsPerMessage = { ours: rounded(median(ours)), baseline: rounded(median(baseline)) };
  return { ...found, cpuRatio: medianRatio(ours, baseline), cpuMsPerMessage, ofProcesses };
}

const totals = (rounds: readonly Record<string, number>[]) => rounds.map((round) => sum(Object.values(round)));

interface Sent {
  /** From before the first request until the last ack is recorded. */
  tookMs: number;
  /** Those whose acks are yet to be looked at. */
  messageIds: readonly string[];
}

/** Each caller has a token of its own, and waits for its answer. */
async function sendSingly(stage: Stage, api: Pool, to: readonly string[]): Promise<Sent> {
  const nextToken = await makeTokens(stage, CALLERS);
  const left = to.values();
  const messageIds: string[] = [];
  const startedMs = performance.now();
  const sendInTurn = async () => {
    const token = nextToken();
    for (const number of left) messageIds.push(await postSend(api, token, number));
  };
  await Promise.all(Array.from({ length: CALLERS }, sendInTurn));
  // None is open any more: one question, as for a list. To ask for each would take Redis a tenth of what is measured.
  const { redis, space } = stage.space.store;
  await eventually(async () => (await redis.zcard(deviceKeys(space, DEVICE).openSends)) === 0, { everyMs: POLL_MS });
  return { tookMs: performance.now() - startedMs, messageIds };
}

/** Asks for each, which is not part of what is measured. */
async function checkAcked(stage: Stage, messageIds: readonly string[]): Promise<void> {
  const isAcked = (messageId: string) => waitForCounts(stage, { messageId, until: ({ queued }) => queued === 0 });
  await Promise.all(messageIds.map(isAcked));
}

async function postSend(api: Pool, token: string, to: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ to, text: 'Hello from a benchmark' });
  const answer = await api.request({ method: 'POST', path: '/api/messenger/v1/send', headers, body });
  const { messageId } = (await answer.body.json()) as { messageId?: string };
  if (answer.statusCode !== 202 || !messageId) throw new Error(`/send answered ${answer.statusCode}`);
  return messageId;
}
