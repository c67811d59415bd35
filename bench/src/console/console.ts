import { makeNumbers } from '@gateway/testkit/phones';
import type { BenchContext, Benchmark } from '../support/benchmark.js';
import { timeUntilAcked } from '../support/send.js';
import { openStage } from '../support/stage.js';
import { measureFleet } from './measure-fleet.js';
import { measurePage } from './measure-page.js';
import { openConsole } from './open-console.js';
import { acceptLists, countAdded, ROUNDS, raceWithConsole, sendCodes, sendToKnown } from './race-with-console.js';

const ACCOUNT = '999100000001';

/** What it costs that someone looks, and what the page costs them. */
export const consoleBenchmark: Benchmark = {
  name: 'console',
  summary: 'CPU per message of the services and Redis, a list to known people: with an open console / without one',
  goals: [
    { figure: 'warm.ratio', atMost: 1.1 },
    { figure: 'otp.ratio', atMost: 1.1 },
    { figure: 'accept.ratio', atMost: 1.1 },
    { figure: 'commandsAddedPerMessage', atMost: 0.02 },
    { figure: 'firstPageKb', atMost: 300 },
    { figure: 'firstPageArabicKb', atMost: 325 },
    { figure: 'rowsOfList', atMost: 80 },
    { figure: 'filterMs', atMost: 150 },
    { figure: 'sendsPageP95Ms', atMost: 150 },
    { figure: 'tabsMb', atMost: 50 },
  ],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0.02 });
    await stage.gateway.link(ACCOUNT);
    const open = await openConsole(context, stage);
    context.say('first, the device gets to know the recipients');
    await timeUntilAcked(stage, { to: makeNumbers(1_000) });
    await stage.simulator.settle();
    const warm = await raceWithConsole(context, { stage, open, work: sendToKnown(stage) });
    const otp = await raceWithConsole(context, { stage, open, work: await sendCodes(stage) });
    const page = await measurePage(context, { stage, open });
    const { accept, fleet } = await measureWithoutSender(context);
    const commandsAddedPerMessage = await countAdded(context, { stage, open });
    return {
      ...{ ratio: warm.ratio, ours: warm.with, baseline: warm.without, unit: 'ms of CPU per message', runs: ROUNDS },
      ...{ warm, otp, accept, commandsAddedPerMessage, ...page, ...fleet },
    };
  },
};

/** Its device accepts and queues, and nothing else runs meanwhile. */
async function measureWithoutSender(context: BenchContext) {
  const stage = await openStage(context, { decryptSample: 0 });
  await stage.gateway.link(ACCOUNT);
  await stage.gateway.senders.pop()!.stop();
  const open = await openConsole(context, stage);
  const work = await acceptLists(stage);
  // Compiles what runs on both sides.
  await work.run(async () => {});
  const accept = await raceWithConsole(context, { stage, open, work });
  return { accept, fleet: await measureFleet({ stage, open }) };
}
