import { LIMITS } from '@gateway/contracts/limits';
import { queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { createProducer, type Producer } from '@gateway/queue/producer';
import { createLogger } from '@gateway/runtime/logs/logger';
import { WakeJobs } from '@gateway/sender/device/wake-jobs';
import { ActiveSends } from '@gateway/sender/scheduling/active-sends';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { rewriteHead } from '@gateway/testkit/rewrite-head';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };

describe('sends without a job', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  let producer: Producer;
  let sends: ActiveSends;
  let nowMs: number;
  let wakeJobs: WakeJobs;

  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    producer = createProducer({ connection: space.clients.commands, space: space.store.space });
    sends = new ActiveSends({
      address,
      monotonicMs: () => nowMs,
      nowMs: () => nowMs,
      load: async () => undefined,
      onLoaded: () => {},
      onFinished: () => {},
      onUnloadable: () => {},
    });
    nowMs = 1_000_000;
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
    const logger = { ...createLogger({ service: 'test', level: 'error' }), error: () => {} };
    wakeJobs = new WakeJobs({ store: space.store, producer, ownership, clock, logger });
  });
  afterEach(async () => {
    await producer.close();
    await space.close();
  });

  async function open(kind: 'text' | 'otp' = 'text'): Promise<string> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511'] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + LIMITS.sendExpirySeconds * 1000 },
    });
    return messageId;
  }
  const openMany = (count: number) => Promise.all(Array.from({ length: count }, () => open()));
  async function jobs(): Promise<number> {
    const base = `${queuePrefix(space.store.space)}:${queueName(address)}`;
    return space.clients.commands.zcard(`${base}:prioritized`);
  }

  it('get one from a new owner as far as there is room, and the others a place in the queue behind', async () => {
    const messageIds = await openMany(1_000);
    const otp = await open('otp');
    await wakeJobs.addMissing(sends, { isStart: true });
    expect(await jobs(), 'lists, and the OTP').to.equal(151);
    const parked = messageIds.filter((messageId) => sends.has(messageId));
    expect(parked).to.have.length(850);
    expect(sends.has(otp)).to.equal(false);
  });

  it('cost nothing on the ticks that follow', async () => {
    await openMany(300);
    await wakeJobs.addMissing(sends, { isStart: true });
    const commands: string[] = [];
    const { redis } = space.store;
    space.store.redis = new Proxy(redis, {
      get(target, name: keyof typeof redis) {
        commands.push(String(name));
        const value = target[name];
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    nowMs += 5_000;
    await wakeJobs.addMissing(sends);
    expect(commands).to.deep.equal(['zrange']);
    expect(await jobs()).to.equal(150);
  });

  it('are left to the job that the api has just added, and get another when that was lost', async () => {
    const messageId = await open();
    nowMs += 1_999;
    await wakeJobs.addMissing(sends);
    expect(await jobs()).to.equal(0);
    nowMs += 1;
    await wakeJobs.addMissing(sends);
    await wakeJobs.addMissing(sends);
    expect(await jobs()).to.equal(1);
    expect(sends.has(messageId)).to.equal(false);
  });

  it('do not keep each other from getting one when a record cannot be read', async () => {
    const [broken] = await openMany(2);
    await rewriteHead(space.store, address, broken!, { version: 99 });
    await wakeJobs.addMissing(sends, { isStart: true });
    expect(await jobs()).to.equal(1);
  });
});
