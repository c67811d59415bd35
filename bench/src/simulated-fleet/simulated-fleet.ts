import { sleep } from '@gateway/runtime/clock';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { Child } from '../baselines/child.js';
import { fleetSize } from '../config.js';
import type { Benchmark } from '../support/benchmark.js';
import { countCommands } from '../support/count-commands.js';
import { rounded } from '../support/statistics.js';
import type { ScriptedSenderMethods, SenderFigures } from './scripted-sender-main.js';
import { writeLinkedDevices } from './write-linked-devices.js';

const WHOLE = { devices: 10_000, senders: 10 };
const IDLE_SECONDS = 60;
const SETTLE_MS = 5_000;
const LOOK_EVERY_MS = 500;
/** A fleet that has not got all devices by then is measured with those that it has. */
const CLAIM_MS = 150_000;
const COMMANDS_PER_SECOND = 1_200;

type Sender = Child<ScriptedSenderMethods>;

/** Cost of owning devices without their sockets: real senders, scripted sessions. */
export const simulatedFleetBenchmark: Benchmark = {
  name: 'simulated-fleet',
  summary: `commands/s that ${WHOLE.senders} senders send with ${WHOLE.devices} idle devices on scripted sessions / ${COMMANDS_PER_SECOND}`,
  goals: [
    { figure: 'claimSeconds', atMost: 60 },
    { figure: 'commandsPerSecond', atMost: COMMANDS_PER_SECOND },
    { figure: 'maxOverFair', atMost: 1.1 },
    { figure: 'loopDelayP99Ms', atMost: 100 },
    { figure: 'rssPerDeviceKb', atMost: 60 },
  ],
  async run({ lifecycle, say }) {
    const { devices, senders: count } = fleetSize(WHOLE);
    const space = await openRedisSpace();
    lifecycle.add('redis space', () => space.close());
    const elsewhere = `${space.prefix}-empty`;
    await writeLinkedDevices(space, devices);
    // None is full, or nearly: what each has is what the fleet wanted it to have.
    const env = { ...settingsOf(space), MAX_DEVICES: String(Math.ceil((2 * devices) / count)) };
    const senders = Array.from({ length: count }, () => startSender(lifecycle, env));
    // One without devices tells what each costs before the first: beside the others, as memory changes with time alone. It
    // belongs to another installation, so that the fleet does not count on it.
    const empty = startSender(lifecycle, { ...env, KEY_PREFIX: elsewhere });
    // Their start is not part of it: they begin together, when all of them have loaded their code.
    await look([...senders, empty]);
    say(`${devices} devices are written, ${count} senders begin`);
    await empty.call('start', undefined);
    const claims = await claimAll(senders, devices, say);
    await sleep(SETTLE_MS);
    const takeCounts = await countCommands(lifecycle, space, (command) =>
      command.some((word) => word.includes(elsewhere)),
    );
    await look(senders);
    await sleep(IDLE_SECONDS * 1000);
    const commandsPerSecond = rounded(takeCounts().commands / IDLE_SECONDS);
    const idle = await look(senders);
    const emptyBytes = total(await look([empty]), 'residentBytes');
    const open = total(idle, 'open');
    return {
      ...{ ratio: rounded(commandsPerSecond / COMMANDS_PER_SECOND), ours: commandsPerSecond },
      ...{ baseline: COMMANDS_PER_SECOND, unit: 'commands/s', runs: 1 },
      ...{ devices, senders: count, open, ...claims, commandsPerSecond },
      maxOverFair: rounded(most(idle, 'open') / (devices / count)),
      loopDelayP99Ms: rounded(most(idle, 'loopDelayP99Ms')),
      emptyMb: rounded(emptyBytes / 1024 ** 2),
      rssPerDeviceKb: rounded((total(idle, 'residentBytes') - count * emptyBytes) / open / 1024),
    };
  },
};

function startSender(lifecycle: Lifecycle, env: Record<string, string>): Sender {
  return new Child<ScriptedSenderMethods>(lifecycle, '../simulated-fleet/scripted-sender-main', env);
}

/** @returns `claimSeconds` is missing where they did not get all of them in time. */
async function claimAll(senders: readonly Sender[], devices: number, say: (line: string) => void) {
  const startedMs = performance.now();
  await Promise.all(senders.map((sender) => sender.call('start', undefined)));
  for (let worstMs = 0; ; await sleep(LOOK_EVERY_MS)) {
    const now = await look(senders);
    worstMs = Math.max(worstMs, most(now, 'loopDelayP99Ms'));
    const ms = performance.now() - startedMs;
    const open = total(now, 'open');
    const found = { claimLoopDelayMs: rounded(worstMs) };
    say(`${open} open after ${rounded(ms / 1000)} s`);
    if (open === devices) return { claimSeconds: rounded(ms / 1000), ...found };
    if (ms > CLAIM_MS) return found;
  }
}

function look(senders: readonly Sender[]): Promise<SenderFigures[]> {
  return Promise.all(senders.map((sender) => sender.call('look', undefined)));
}

function total(all: readonly SenderFigures[], figure: keyof SenderFigures): number {
  return all.reduce((sum, each) => sum + each[figure], 0);
}

function most(all: readonly SenderFigures[], figure: keyof SenderFigures): number {
  return Math.max(...all.map((each) => each[figure]));
}

/** As in production; a session that connected by mistake would reach nothing. */
function settingsOf({ url, prefix, keySettings }: RedisSpace): Record<string, string> {
  const nowhere = { MESSENGER_URL: 'ws://127.0.0.1:9', MESSENGER_TRUST: `root:${'00'.repeat(32)}` };
  return { REDIS_URL: url, KEY_PREFIX: prefix, ...keySettings, ...nowhere, LOG_LEVEL: 'warn', LOG_FORMAT: 'json' };
}
