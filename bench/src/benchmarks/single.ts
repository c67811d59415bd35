import { RATE_LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, queuePrefix } from '@gateway/contracts/redis-keys';
import { sleep } from '@gateway/runtime/clock';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { makeNumbers } from '@gateway/testkit/phones';
import type { Benchmark } from '../support/benchmark.js';
import { countCommands } from '../support/count-commands.js';
import { escapeGlob, measureMemory } from '../support/measure-memory.js';
import { accept, waitForCounts } from '../support/send.js';
import { openStage, type Stage } from '../support/stage.js';
import { rounded } from '../support/statistics.js';

const ACCOUNT = '999100000001';
const ADDRESS = { workspace: 'main', device: 'default' };
const SENDS = 500;
const COMMANDS = 20;
const IDLE_SECONDS = 10;
/** What belongs to people and not to sends. */
const SESSION_KEYS = /:keys:|:key-buckets$|:contact-index$|:creds$/;

/** What one message to one person asks of Redis, and what it leaves there. */
export const singleBenchmark: Benchmark = {
  name: 'single',
  summary: `Redis commands of a send with one known recipient, request to read receipt / ${COMMANDS}`,
  goals: [
    { figure: 'commandsPerSend', atMost: COMMANDS },
    { figure: 'bytesPerSend', atMost: 700 },
    { figure: 'bytesAfterContent', atMost: 380 },
  ],
  async run({ lifecycle, say }) {
    const stage = await openStage({ lifecycle, say }, { decryptSample: 1 });
    await stage.gateway.link(ACCOUNT);
    const to = makeNumbers(SENDS);
    say('first, the device gets to know the recipients');
    const introduction = await accept(stage, { to });
    await waitForCounts(stage, { messageId: introduction, until: ({ read }) => read === SENDS });
    const tokens = await makeTokens(stage);

    const isOfKeys = (command: readonly string[]) => command.some((argument) => SESSION_KEYS.test(argument));
    const takeCounts = await countCommands(lifecycle, stage.space, isOfKeys);
    await sleep(IDLE_SECONDS * 1000);
    const idlePerMs = takeCounts().commands / (IDLE_SECONDS * 1000);
    const bytesBefore = await deviceBytes(stage);
    takeCounts();
    const startedMs = performance.now();
    for (const [i, number] of to.entries()) {
      const token = tokens[Math.floor(i / RATE_LIMITS.send)]!;
      const messageId = await accept(stage, { to: number, token });
      await waitForCounts(stage, { messageId, until: ({ read }) => read === 1 });
    }
    const ms = performance.now() - startedMs;
    const { commands, apart } = takeCounts();
    const commandsPerSend = (commands - idlePerMs * ms) / SENDS;
    const bytesPerSend = ((await deviceBytes(stage)) - bytesBefore) / SENDS;
    await eraseContent(stage);
    const bytesAfterContent = ((await deviceBytes(stage)) - bytesBefore) / SENDS;
    return {
      ratio: rounded(commandsPerSend / COMMANDS),
      ours: rounded(commandsPerSend),
      baseline: COMMANDS,
      unit: 'commands per send',
      runs: SENDS,
      commandsPerSend: rounded(commandsPerSend),
      keyCommandsPerSend: rounded(apart / SENDS),
      bytesPerSend: rounded(bytesPerSend),
      bytesAfterContent: rounded(bytesAfterContent),
      msPerSend: rounded(ms / SENDS),
    };
  },
};

function makeTokens({ space }: Stage): Promise<string[]> {
  const make = async () => (await createApiToken(space.store, 'main', { name: 'bench', device: 'default' })).value;
  return Promise.all(Array.from({ length: Math.ceil(SENDS / RATE_LIMITS.send) }, make));
}

/** All that Redis keeps of the device and its queue, without what it keeps of people. */
async function deviceBytes({ space }: Stage): Promise<number> {
  const { base } = deviceKeys(space, ADDRESS);
  const patterns = [`${escapeGlob(base)}:*`, `${escapeGlob(queuePrefix(space))}:*`];
  const isMeant = (key: string) => !SESSION_KEYS.test(key);
  const sizes = await Promise.all(patterns.map((pattern) => measureMemory(space.clients.commands, pattern, isMeant)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** As when its time is over. */
async function eraseContent({ space }: Stage): Promise<void> {
  const redis = space.clients.commands;
  const match = `${escapeGlob(deviceKeys(space, ADDRESS).base)}:c:*`;
  for await (const keys of redis.scanStream({ match, count: 1_000 })) {
    await Promise.all((keys as string[]).map((key) => redis.unlink(key)));
  }
}
