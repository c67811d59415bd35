import { LIMITS } from '@gateway/contracts/limits';
import { sleep } from '@gateway/runtime/clock';
import { makeNumbers } from '@gateway/testkit/phones';
import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { allScripts, nameOfScript } from '@gateway/testkit/redis-servers/all-scripts';
import { makeTokens } from '../http/count-answers.js';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { countCommands } from '../support/count-commands.js';
import { cpuMsOf, readResidentBytes } from '../support/process-usage.js';
import { accept, timeUntilAcked, waitForCounts } from '../support/send.js';
import { createCodeSender } from '../support/send-codes.js';
import { gatewayPids, openStage, type Stage } from '../support/stage.js';
import { median, medianRatio, percentile, rounded } from '../support/statistics.js';
import { type Endpoint, openEndpoint } from './open-endpoint.js';

const ACCOUNT = '999100000001';
const RECIPIENTS = 1_000;
const ROUNDS = 11;
/** Lists that are told before the race, one behind the other: a process that has told fewer compiles for as long as it tells. */
const WARM_UPS = 24;
const COUNTED_ROUNDS = 3;
const SINGLES = 150;
const CODES = 50;
/** Of each side, however soon it is done: both do as much of what is done by the clock. */
const ROUND_MS = 8_000;
/** Shorter than by default: the end of each round waits for it. */
const GATHER_SECONDS = 5;
const WARM_UP_GATHER_SECONDS = 1;

/** What it costs that someone wants to be told of all that happens. */
export const eventsBenchmark: Benchmark = {
  name: 'events',
  summary:
    'CPU per message of all processes, a list to known people: without a consumer of events / with one live endpoint',
  goals: [
    { figure: 'throughputRatio', atLeast: 0.95 },
    { figure: 'senderCpuRatio', atMost: 1.1 },
    { figure: 'eventsCpuMsPerMessage', atMost: 0.1 },
    { figure: 'commandsAddedPerMessage', atMost: 0.02 },
    { figure: 'logBytesPerChangeInLists', atMost: 12 },
    { figure: 'logBytesPerChangeAlone', atMost: 64 },
    { figure: 'requestsOfList', atMost: 80 },
    { figure: 'codeEventP95Ms', atMost: 500 },
  ],
  async run(context) {
    // The address of this machine is a private one.
    const stage = await openStage(context, { decryptSample: 0.02, env: { WEBHOOK_NETWORKS: '127.0.0.1/32' } });
    await stage.gateway.link(ACCOUNT);
    const events = await stage.gateway.addEvents();
    const endpoint = await openEndpoint(context, stage);
    context.say('first, the device gets to know the recipients');
    await timeUntilAcked(stage, { to: makeNumbers(RECIPIENTS) });
    await stage.simulator.settle();
    const baseBytes = readResidentBytes(events.pid);
    const list = await tellList(context, stage, endpoint);
    await stage.simulator.settle();
    context.say(`then ${WARM_UPS} lists like those of the race, for the events process to compile what it does often`);
    await warmUp(stage, endpoint);
    const race = await raceWithAndWithout(context, stage, endpoint);
    const alone = await tellAlone(stage, endpoint);
    const residentMb = { base: toMb(baseBytes), afterwards: toMb(readResidentBytes(events.pid)) };
    const commands = await countAdded(context, stage, endpoint);
    return { ...race, ...alone, ...list, ...commands, eventsResidentMb: residentMb, runs: ROUNDS };
  },
};

async function warmUp(stage: Stage, endpoint: Endpoint): Promise<void> {
  await endpoint.open(WARM_UP_GATHER_SECONDS);
  for (let i = 0; i < WARM_UPS; i++) await timeUntilAcked(stage, { to: makeNumbers(RECIPIENTS) });
  await stage.simulator.settle();
  await endpoint.waitForReads(WARM_UPS * RECIPIENTS);
  await endpoint.close();
}

const toMb = (bytes: number) => rounded(bytes / 1024 / 1024);

/** In turn, on the same device, in rounds of the same length: CPU is that of all of it, what the processes do by the clock included. */
async function raceWithAndWithout(context: BenchContext, stage: Stage, endpoint: Endpoint) {
  const to = makeNumbers(RECIPIENTS);
  const pids = await gatewayPids(stage);
  const [senderPid, eventsPid] = [stage.gateway.senders[0]!.pid, stage.gateway.events[0]!.pid];
  const sides = { ours: noFigures(), baseline: noFigures() };
  const logBytes: number[] = [];
  const measure = async (side: keyof typeof sides) => {
    const startedMs = performance.now();
    const cpu = { all: cpuMsOf(pids), sender: readCpuMs(senderPid), events: readCpuMs(eventsPid) };
    const ms = await timeUntilAcked(stage, { to });
    await stage.simulator.settle();
    sides[side].sender.push((readCpuMs(senderPid) - cpu.sender) / RECIPIENTS);
    if (side === 'ours') await endpoint.waitForReads(RECIPIENTS);
    await sleep(Math.max(0, startedMs + ROUND_MS - performance.now()));
    sides[side].all.push((cpuMsOf(pids) - cpu.all) / RECIPIENTS);
    sides[side].events.push((readCpuMs(eventsPid) - cpu.events) / RECIPIENTS);
    sides[side].rate.push(RECIPIENTS / (ms / 1000));
    return sides[side].rate.at(-1)!;
  };
  const unit = 'messages/s';
  const found = await compare(context, {
    async ours() {
      await endpoint.open(GATHER_SECONDS);
      const rate = await measure('ours');
      const told = await endpoint.told();
      logBytes.push(told.logBytes / told.changes);
      await endpoint.close();
      return rate;
    },
    baseline: () => measure('baseline'),
    ...{ unit, rounds: ROUNDS },
  });
  const { ours, baseline } = sides;
  const race = {
    ratio: medianRatio(baseline.all, ours.all),
    ...{ ours: found.ours, baseline: found.baseline, unit },
    throughputRatio: medianRatio(ours.rate, baseline.rate),
    senderCpuRatio: medianRatio(ours.sender, baseline.sender),
    // Without an endpoint that process looks after logs and outboxes, too.
    eventsCpuMsPerMessage: rounded(median(ours.events.map((ms, round) => ms - baseline.events[round]!))),
    cpuMsPerMessage: { with: rounded(median(ours.all)), without: rounded(median(baseline.all)) },
    logBytesPerChangeInLists: rounded(median(logBytes)),
  };
  context.say(JSON.stringify(race));
  return race;
}

const noFigures = () => ({ all: [] as number[], sender: [] as number[], events: [] as number[], rate: [] as number[] });

/** Sends of one recipient: each change is an entry of the log. */
async function tellAlone(stage: Stage, endpoint: Endpoint) {
  await endpoint.open();
  const nextToken = await makeTokens(stage, SINGLES / 10);
  let token = '';
  for (const [i, to] of makeNumbers(SINGLES).entries()) {
    if (i % 10 === 0) token = nextToken();
    await accept(stage, { to, token });
  }
  await endpoint.waitForReads(SINGLES);
  const told = await endpoint.told();
  await endpoint.close();
  return { logBytesPerChangeAlone: rounded(told.logBytes / told.changes) };
}

/** A list of the largest size to strangers, and codes beside it. */
async function tellList(context: BenchContext, stage: Stage, endpoint: Endpoint) {
  const sendCodes = await createCodeSender(stage, CODES);
  await endpoint.open();
  const to = makeNumbers(LIMITS.maxRecipients, 1);
  const messageId = await accept(stage, { to });
  await waitForCounts(stage, { messageId, until: ({ queued }) => queued < to.length });
  await sendCodes(CODES);
  await endpoint.waitForReads(to.length);
  const told = await endpoint.told();
  await endpoint.close();
  context.say(`a list of ${to.length}: ${told.requests} requests, and ${told.codeMs.length} of one-time passwords`);
  return {
    requestsOfList: told.requests,
    codeEventP95Ms: rounded(percentile(told.codeMs, 0.95)),
  };
}

/** They write what several messages bring: how often depends on what comes at the same time, by a tenth of a command a message. */
const GATHERING_STEPS = ['record-results', 'commit-keys'];

/**
 * Commands of the sender's connections, those that gather apart, in rounds of the same length: a hundred a second are sent by the clock.
 * Last, as `MONITOR` costs Redis more than what it shows.
 */
async function countAdded({ lifecycle }: BenchContext, stage: Stage, endpoint: Endpoint) {
  await allScripts();
  let gathering = 0;
  const take = await countCommands(lifecycle, stage.space, ([command, script], connection) => {
    if (!connection.startsWith('sender-')) return false;
    const gathers = command?.toLowerCase() === 'evalsha' && GATHERING_STEPS.includes(nameOfScript(script!) ?? '');
    if (gathers) gathering++;
    return !gathers;
  });
  const to = makeNumbers(RECIPIENTS);
  const measure = async () => {
    const startedMs = performance.now();
    take();
    gathering = 0;
    await timeUntilAcked(stage, { to });
    await stage.simulator.settle();
    await sleep(Math.max(0, startedMs + ROUND_MS - performance.now()));
    return { others: take().apart / RECIPIENTS, gathering: gathering / RECIPIENTS };
  };
  const sides = {
    without: measure,
    async with() {
      await endpoint.open();
      const commands = await measure();
      await endpoint.close();
      return commands;
    },
  };
  const added: number[] = [];
  const gathered = { with: [] as number[], without: [] as number[] };
  for (let round = 0; round < COUNTED_ROUNDS; round++) {
    const counted = { with: 0, without: 0 };
    const order = round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const);
    for (const side of order) {
      const { others, gathering } = await sides[side]();
      counted[side] = others;
      gathered[side].push(gathering);
    }
    added.push(counted.with - counted.without);
  }
  return {
    commandsAddedPerMessage: rounded(median(added)),
    gatheringCommandsPerMessage: { with: rounded(median(gathered.with)), without: rounded(median(gathered.without)) },
  };
}
