import { type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend } from '@gateway/store/sends/change-send';
import { keysOfSend } from '@gateway/store/sends/keys-of-send';
import { findRecipient } from '@gateway/store/sends/listing/find-recipient';
import { listSends, type SendFilter } from '@gateway/store/sends/listing/list-sends';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';

const WORKSPACE = 'main';

describe('the list of sends', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  async function accept(
    device: string,
    options: { owner?: string; kind?: 'text' | 'otp'; to?: string[]; workspace?: string } = {},
  ): Promise<MessageId> {
    const { owner = 't', kind = 'text', to = ['4915112345670'], workspace = WORKSPACE } = options;
    await ensureDevice(space.store, { workspace, device });
    const { messageId } = await acceptSend(
      space.store,
      { workspace, device },
      {
        ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients: to, owner, requestId: 'r' },
        ...{ nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
      },
    );
    return messageId;
  }
  /** Tells how many commands Redis has got since. */
  function countCommands(): () => number {
    let commands = 0;
    const { redis } = space.store;
    const send = redis.sendCommand.bind(redis);
    redis.sendCommand = (...args: Parameters<typeof send>) => {
      commands++;
      return send(...args);
    };
    return () => commands;
  }
  /** Sends of different shards that are accepted in one millisecond of Redis have no order. */
  async function nextMillisecond(): Promise<void> {
    const millisecond = async () =>
      (await space.clients.commands.time()).map(Number).reduce((s, us) => s * 1_000 + Math.floor(us / 1_000));
    const before = await millisecond();
    while ((await millisecond()) === before);
  }
  const list = (filter: SendFilter & { limit?: number } = {}) =>
    listSends(space.store, WORKSPACE, { limit: 50, ...filter });
  const idsOf = (page: Awaited<ReturnType<typeof list>>) => page.sends.map(({ send }) => send.messageId);

  /** All pages of it. */
  async function pages(filter: SendFilter & { limit: number }): Promise<MessageId[][]> {
    const all: MessageId[][] = [];
    for (let before = filter.before; all.length < 100; ) {
      const page = await list({ ...filter, ...(before && { before }) });
      all.push(idsOf(page));
      if (!page.next) return all;
      before = page.next;
    }
    throw new Error('the list has no end');
  }

  it('has the sends of all devices once each, the newest first, page by page', async () => {
    const ids: MessageId[] = [];
    // In the end one device is busier than all others.
    for (let i = 0; i < 100; i++) {
      await nextMillisecond();
      ids.unshift(await accept(i < 60 ? `phone-${i % 7}` : 'phone-1'));
    }
    const found = await pages({ limit: 9 });
    expect(found.slice(0, 11).map((page) => page.length)).to.deep.equal(Array(11).fill(9));
    expect(found.flat()).to.deep.equal(ids);
  });

  it('keeps the sends of one device in the order in which they were accepted, also within a millisecond', async () => {
    await ensureDevice(space.store, { workspace: WORKSPACE, device: 'phone-1' });
    const ids = await Promise.all(Array.from({ length: 50 }, () => accept('phone-1')));
    expect((await pages({ limit: 7 })).flat().sort()).to.deep.equal([...ids].sort());
  });

  it('tells by device, status, kind, token and time', async () => {
    const first = await accept('phone-1', { owner: 'a' });
    await nextMillisecond();
    const second = await accept('phone-2', { owner: 'b', kind: 'otp' });
    await nextMillisecond();
    const third = await accept('phone-1', { owner: 'b' });
    await cancelSend(space.store, { workspace: WORKSPACE, device: 'phone-1' }, third);
    expect(idsOf(await list())).to.deep.equal([third, second, first]);
    expect(idsOf(await list({ device: 'phone-1' }))).to.deep.equal([third, first]);
    expect(idsOf(await list({ device: 'phone-3' }))).to.deep.equal([]);
    expect(idsOf(await list({ statuses: ['queued'] }))).to.deep.equal([second, first]);
    expect(idsOf(await list({ statuses: ['cancelled'] }))).to.deep.equal([third]);
    expect(idsOf(await list({ kind: 'otp' }))).to.deep.equal([second]);
    expect(idsOf(await list({ owner: 'b' }))).to.deep.equal([third, second]);
    expect(idsOf(await list({ sinceMs: Date.now() + 60_000 }))).to.deep.equal([]);
    expect(idsOf(await list({ untilMs: Date.now() + 60_000 }))).to.have.lengthOf(3);
    expect(idsOf(await list({ untilMs: Date.now() - 60_000 }))).to.deep.equal([]);
  });

  it('finds the one send that passes a filter behind many that do not', async () => {
    const wanted = await accept('phone-1', { owner: 'rare' });
    for (let i = 0; i < 80; i++) await accept('phone-1');
    expect((await pages({ limit: 5, owner: 'rare' })).flat()).to.deep.equal([wanted]);
  });

  it('keeps workspaces apart, leaves out what is gone or of another version, and is forgotten after eight days', async () => {
    await accept('phone-1', { workspace: 'other' });
    expect(idsOf(await list())).to.deep.equal([]);
    const [kept, gone, unknown] = [await accept('phone-1'), await accept('phone-1'), await accept('phone-1')];
    const address = { workspace: WORKSPACE, device: 'phone-1' };
    await space.clients.commands.del(keysOfSend(space.store, address, parseMessageId(gone)!.tag).record);
    await rewriteHead(space.store, address, unknown, { version: 99 });
    expect(idsOf(await list())).to.deep.equal([kept]);
    const stream = shardKeys(space.store.space, shardOf(address)).sends(WORKSPACE);
    const hour = 3_600_000;
    expect(await space.clients.commands.pttl(stream)).to.be.within(8 * 24 * hour, 8.5 * 24 * hour);
    // What is older goes with the next send, by whole nodes of the stream.
    await space.clients.commands.del(stream);
    for (let i = 1; i <= 300; i++) await space.clients.commands.xadd(stream, `${i}-0`, 's', 'phone-1/0000000000000');
    const last = await accept('phone-1');
    expect(await space.clients.commands.xlen(stream)).to.be.below(101);
    expect(idsOf(await list())).to.deep.equal([last]);
  });

  it('finds the sends that went to a number, however it is spelled, and in which place', async () => {
    const crowd = Array.from({ length: 200 }, (_, i) => String(4915100000000 + i));
    const first = await accept('phone-1', { to: [...crowd, '5511912345678'] });
    await accept('phone-1', { to: crowd });
    await nextMillisecond();
    const last = await accept('phone-2', { to: ['551112345678', '999999999999999'] });
    const look = async (phone: string) => {
      const { found, next } = await findRecipient(space.store, WORKSPACE, phone);
      expect(next).to.equal(undefined);
      return found.map(({ send, recipient }) => [send.messageId, recipient]);
    };
    expect(await look('5511912345678')).to.deep.equal([[first, 200]]);
    expect(await look('999999999999999')).to.deep.equal([[last, 1]]);
    expect((await look('4915100000007')).map(([, place]) => place)).to.deep.equal([7, 7]);
    expect(await look('4915100000999')).to.deep.equal([]);
    const page = await findRecipient(space.store, WORKSPACE, '4915100000007', { limit: 1 });
    const rest = await findRecipient(space.store, WORKSPACE, '4915100000007', { before: page.next!, limit: 1 });
    expect([...page.found, ...rest.found].map(({ send }) => send.messageId).at(-1)).to.equal(first);
  });

  it('finds no number in the bytes of another one, or across two', async () => {
    const messageId = await accept('phone-1', { to: ['4915100000000', '256000016', '17777216', '1000000'] });
    const { found } = await findRecipient(space.store, WORKSPACE, '1000000');
    expect(found.map(({ send, recipient }) => [send.messageId, recipient])).to.deep.equal([[messageId, 3]]);
  });

  it('looks through half a megabyte of a shard in one step of Redis', async () => {
    const to = Array.from({ length: 10_000 }, (_, i) => String(4_915_100_000_000 + i));
    for (let i = 0; i < 4; i++) await accept('phone-1', { to });
    let steps = 0;
    const run: RunScript = (name, ...rest) => {
      if (name === 'find-recipient') steps++;
      return space.store.run(name, ...rest);
    };
    const { found } = await findRecipient({ ...space.store, run }, WORKSPACE, to[9_999]!);
    expect([found.length, steps]).to.deep.equal([4, 2]);
  });

  it('looks through a thousand sends of others with a few commands', async () => {
    await ensureDevice(space.store, { workspace: WORKSPACE, device: 'phone-1' });
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 100 }, () => accept('phone-1')));
    const counted = countCommands();
    expect((await list({ owner: 'another', limit: 100 })).sends).to.deep.equal([]);
    expect(counted()).to.be.at.most(40);
    expect((await list({ kind: 'otp', limit: 100 })).sends).to.deep.equal([]);
    expect((await list({ statuses: ['read'], limit: 100 })).sends).to.deep.equal([]);
    expect(counted(), 'not one for each').to.be.at.most(120);
  });

  it('reads a page of the sends of a thousand devices at once', async () => {
    const devices = Array.from({ length: 1_000 }, (_, i) => `phone-${i}`);
    await Promise.all(devices.map((device) => accept(device)));
    expect(new Set(devices.map((device) => shardOf({ workspace: WORKSPACE, device }))).size).to.equal(SHARDS);
    const counted = countCommands();
    const page = await list();
    expect(page.sends).to.have.lengthOf(50);
    // The devices, two reads of each shard, and the account of each device on it.
    expect(counted()).to.be.at.most(1 + 4 * SHARDS + 2 * 50);
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const startedMs = performance.now();
      await list();
      times.push(performance.now() - startedMs);
    }
    expect(Math.min(...times)).to.be.below(150);
  });
});
