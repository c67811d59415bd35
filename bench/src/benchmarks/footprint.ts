import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, queuePrefix, sendKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { openEvents } from '@gateway/store/events/open-events';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { makeNumbers } from '@gateway/testkit/phones';
import { addOneJobEach } from '../baselines/bullmq-baseline.js';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { escapeGlob, measureMemory } from '../support/measure-memory.js';
import { accept, waitForCounts } from '../support/send.js';
import { openStage, type Stage } from '../support/stage.js';
import { median, rounded } from '../support/statistics.js';

const ACCOUNT = '999100000001';
const ADDRESS = { workspace: 'main', device: 'default' };
const RECIPIENTS = 2_000;

/** Memory that a list takes in Redis, while it waits and while it is stored. */
export const footprintBenchmark: Benchmark = {
  name: 'footprint',
  summary: 'Redis bytes per queued recipient, and after delivery / bytes of one BullMQ job per recipient',
  goals: [
    { figure: 'ratio', atMost: 0.05 },
    { figure: 'deliveredRatio', atMost: 0.05 },
    { figure: 'deliveredRatioWithEvents', atMost: 0.12 },
  ],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0.02 });
    const { gateway, space } = stage;
    await gateway.link(ACCOUNT);
    const delivered: number[] = [];
    const sessionKeys: number[] = [];
    const ours = async (round: number) => {
      await gateway.senders.at(-1)!.stop();
      const keysBefore = await sessionKeyBytes(stage);
      const messageId = await accept(stage, { to: makeNumbers(RECIPIENTS, round) });
      const queued = await sendBytes(stage, messageId);
      await gateway.addSender();
      await waitForCounts(stage, { messageId, until: ({ read }) => read === RECIPIENTS });
      delivered.push((await sendBytes(stage, messageId)) / RECIPIENTS);
      sessionKeys.push(((await sessionKeyBytes(stage)) - keysBefore) / RECIPIENTS);
      return queued / RECIPIENTS;
    };
    const baseline = async () => {
      const queue = await addOneJobEach(space, makeNumbers(RECIPIENTS));
      const bytes = await queue.readBytes();
      await queue.remove();
      return bytes / RECIPIENTS;
    };
    const found = await compare(context, { ours, baseline, unit: 'bytes' });
    const withEvents = await deliveredWithEvents(stage);
    const deliveredBytes = rounded(median(delivered));
    return {
      ...found,
      unit: 'bytes per recipient',
      deliveredRatio: rounded(deliveredBytes / found.baseline),
      deliveredBytes,
      deliveredRatioWithEvents: rounded(withEvents / found.baseline),
      deliveredBytesWithEvents: rounded(withEvents),
      sessionKeyBytes: rounded(median(sessionKeys)),
    };
  },
};

/** With what the log of events has of it, per recipient. */
async function deliveredWithEvents(stage: Stage): Promise<number> {
  const { store } = stage.space;
  await openEvents(store, ADDRESS.workspace);
  await stage.gateway.addEvents();
  const messageId = await accept(stage, { to: makeNumbers(RECIPIENTS, 50) });
  await waitForCounts(stage, { messageId, until: ({ read }) => read === RECIPIENTS });
  const isEmpty = async () => (await findFullOutboxes(store, ADDRESS.workspace)).length === 0;
  await eventually(isEmpty, { what: 'empty outboxes' });
  const { eventLog } = workspaceKeys(stage.space, ADDRESS.workspace);
  const logBytes = await measureMemory(stage.space.clients.commands, escapeGlob(eventLog));
  return ((await sendBytes(stage, messageId)) + logBytes) / RECIPIENTS;
}

/** The packed send and its content, the device's lists of sends, and the whole queue. */
async function sendBytes({ space }: Stage, messageId: string): Promise<number> {
  const keys = deviceKeys(space, ADDRESS);
  const { record, content } = sendKeys(space, ADDRESS, parseMessageId(messageId)!.tag);
  const patterns = [
    ...[record, content, keys.openSends, keys.backlog, keys.pace].map(escapeGlob),
    `${escapeGlob(queuePrefix(space))}:*`,
  ];
  const sizes = await Promise.all(patterns.map((pattern) => measureMemory(space.clients.commands, pattern)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function sessionKeyBytes({ space }: Stage): Promise<number> {
  const { base } = deviceKeys(space, ADDRESS);
  return measureMemory(space.clients.commands, `${escapeGlob(`${base}:keys:`)}*`);
}
