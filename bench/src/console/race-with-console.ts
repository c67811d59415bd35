import { LIMITS } from '@gateway/contracts/limits';
import { makeNumbers } from '@gateway/testkit/phones';
import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { makeTokens } from '../http/count-answers.js';
import type { BenchContext } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { countCommands } from '../support/count-commands.js';
import { cpuMsOf } from '../support/process-usage.js';
import { accept, waitForCounts } from '../support/send.js';
import { createCodeSender } from '../support/send-codes.js';
import { gatewayPids, type Stage } from '../support/stage.js';
import { median, medianRatio, rounded } from '../support/statistics.js';
import { ALL_PAGES, type OpenConsole } from './open-console.js';

export const ROUNDS = 9;
const KNOWN = 1_000;
const CODES = 60;
const LISTS = 20;
const COUNTED_ROUNDS = 5;

/** CPU of the services and Redis, the console's process apart, with an open console / without one. */
export interface ConsoleRace {
  ratio: number;
  /** ms per message, code or list. */
  with: number;
  without: number;
  /** Of the console's own process, ms per message, code or list. */
  console: number;
}

interface Work {
  label: string;
  /** Messages, codes or lists of one round. */
  count: number;
  /** @param follow opens a tab on a send, where there is a console. */
  run(follow: (messageId: string) => Promise<void>): Promise<void>;
}

/** A list to people who are known. Its page is open while it goes out. */
export function sendToKnown(stage: Stage): Work {
  const to = makeNumbers(KNOWN);
  return {
    ...{ label: 'warm', count: KNOWN },
    async run(follow) {
      const messageId = await accept(stage, { to });
      await follow(messageId);
      await waitForCounts(stage, { messageId, until: ({ queued }) => queued === 0 });
      await stage.simulator.settle();
    },
  };
}

/** One-time passwords, one after the other, each to a new contact. */
export async function sendCodes(stage: Stage): Promise<Work> {
  const send = await createCodeSender(stage, 2 * ROUNDS * CODES);
  return { label: 'otp', count: CODES, run: async () => void (await send(CODES)) };
}

/** Lists of the largest size. Nothing sends them. */
export async function acceptLists(stage: Stage): Promise<Work> {
  const to = makeNumbers(LIMITS.maxRecipients);
  const nextToken = await makeTokens(stage, 2 * ROUNDS * LISTS + LISTS);
  return {
    ...{ label: 'accept', count: LISTS },
    async run() {
      for (let list = 0; list < LISTS; list++) await accept(stage, { to, token: nextToken() });
    },
  };
}

/** In turn, on the same device; the console's process is there on both sides, and a tab on one. */
export async function raceWithConsole(
  context: BenchContext,
  { stage, open, work }: { stage: Stage; open: OpenConsole; work: Work },
): Promise<ConsoleRace> {
  const cookie = await open.signIn();
  const pids = await gatewayPids(stage);
  const sides = { with: [] as number[], without: [] as number[], console: [] as number[] };
  const measure = async (side: 'with' | 'without', follow: (messageId: string) => Promise<void>) => {
    const before = { all: cpuMsOf(pids), console: readCpuMs(open.pid) };
    await work.run(follow);
    sides[side].push((cpuMsOf(pids) - before.all) / work.count);
    if (side === 'with') sides.console.push((readCpuMs(open.pid) - before.console) / work.count);
    return sides[side].at(-1)!;
  };
  await compare(context, {
    ours: () => withTabs(open, cookie, (follow) => measure('with', follow)),
    baseline: () => measure('without', async () => {}),
    ...{ unit: 'ms of CPU', rounds: ROUNDS, label: `${work.label}, ` },
  });
  return {
    ratio: medianRatio(sides.with, sides.without),
    with: rounded(median(sides.with)),
    without: rounded(median(sides.without)),
    console: rounded(median(sides.console)),
  };
}

/** Commands that the connections of the sender and the api send more for each message. `MONITOR` costs Redis more than what it shows. */
export async function countAdded(
  { lifecycle }: BenchContext,
  { stage, open }: { stage: Stage; open: OpenConsole },
): Promise<number> {
  const cookie = await open.signIn();
  const take = await countCommands(lifecycle, stage.space, (_, connection) => /^(sender|api)-/.test(connection));
  const work = sendToKnown(stage);
  const measure = async (follow: (messageId: string) => Promise<void>) => {
    take();
    await work.run(follow);
    return take().apart / work.count;
  };
  const added: number[] = [];
  for (let round = 0; round < COUNTED_ROUNDS; round++) {
    const without = await measure(async () => {});
    added.push((await withTabs(open, cookie, measure)) - without);
  }
  return rounded(median(added));
}

/** Does something while a tab follows all pages, and others the sends of which it hears. */
async function withTabs<Result>(
  open: OpenConsole,
  cookie: string,
  work: (follow: (messageId: string) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const tabs = [await open.openTab(cookie, ALL_PAGES)];
  const result = await work(async (messageId) => void tabs.push(await open.openTab(cookie, `send.${messageId}`)));
  for (const close of tabs) close();
  return result;
}
