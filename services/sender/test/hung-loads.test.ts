import type { SendJob } from '@gateway/contracts/jobs';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { PoolStage } from './support/pool-stage.js';

const workspace = 'main';

describe('lists of a device whose node of a Cluster hangs', () => {
  let stage: PoolStage;
  let thaw: () => void;
  beforeEach(async () => {
    stage = await PoolStage.open();
    thaw = () => {};
  });
  afterEach(async () => {
    thaw();
    await stage.close();
  });

  async function accept(device: string): Promise<SendJob> {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(
      stage.space.store,
      { workspace, device },
      {
        ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491517000001'] },
        ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 3_600_000 },
      },
    );
    return { v: 1, workspace, device, messageId, priority: 'bulk', requestId: 'r' };
  }
  const acceptMany = (device: string, lists: number) =>
    Promise.all(Array.from({ length: lists }, () => accept(device)));
  const isSent = async ({ device, messageId }: SendJob) =>
    (await readSend(stage.space.store, { workspace, device }, messageId))?.counts.sent === 1;

  async function open() {
    for (const device of ['far', 'near']) await stage.link(device);
    const { pool } = stage.addSender('one');
    await stage.become([2]);
    return pool;
  }
  function freezeFar(): void {
    thaw = stage.freeze([deviceKeys(stage.space.store.space, { workspace, device: 'far' }).openSends]);
  }

  it('hold up no list of another device of its sender, however many are being read, and go on with their node', async () => {
    const pool = await open();
    const far = await acceptMany('far', 40);
    freezeFar();
    for (const job of far) void pool.takeJob(job);
    await eventually(() => stage.frozenSteps > 0);
    const near = await accept('near');
    void pool.takeJob(near);
    await eventually(() => isSent(near));
    thaw();
    for (const job of far) await eventually(() => isSent(job));
  });

  it('hold no job of the queue of its sender, which has a limited number of them for all devices', async () => {
    const pool = await open();
    const far = await acceptMany('far', 3);
    freezeFar();
    await Promise.all(far.map((job) => pool.takeJob(job)));
    thaw();
    for (const job of far) await eventually(() => isSent(job));
  });
});
