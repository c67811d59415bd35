import type { MessageContent, SendKind } from '@gateway/contracts/content/message-content';
import { parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import type { HeldDevice } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import type { LogFields } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { loadSend } from '@gateway/sender/preparing/load-send';
import { TakeIns } from '@gateway/sender/preparing/take-ins';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import type { LoadOptions } from '@gateway/sender/scheduling/retries';
import type { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { takeAccount } from '@gateway/store/devices/take-account';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };

const HOUR_MS = 3_600_000;

describe('loading a send', () => {
  let space: RedisSpace;
  let errors: unknown[];
  beforeEach(async () => {
    errors = [];
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
  });
  afterEach(() => space.close());

  async function accept({
    kind = 'text' as SendKind,
    expiresAtMs = Date.now() + 60_000,
    content = { kind: 'text', text: 'hello' } as MessageContent,
    parts = 1,
  } = {}): Promise<string> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content, parts, recipients: ['491511', '491512'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs },
    });
    return messageId;
  }
  async function load(store: Store, messageId: string, registry = createMetrics()) {
    return loadSend(await makeDeps(store, registry), messageId, {});
  }
  async function makeDeps(store: Store, registry = createMetrics()) {
    const ownership = (await takeDevice(store, address, { owner: 'a', ttlMs: 60_000 })) as HeldDevice;
    return {
      ...{ store, ownership, clock: systemClock, memory: new MemoryBudget() },
      takeIns: new TakeIns({ store, ownership, clock: systemClock }),
      logger: {
        ...silentLogger,
        error: (line: string, fields?: LogFields) => void errors.push([line, fields?.messageId]),
      },
      metrics: createSenderMetrics(registry, () => ({})),
      ids: platformIds(Buffer.alloc(16)),
    };
  }

  it('of another account than the one that is linked now sends nothing, also where its api died right after the step', async () => {
    const { store } = space;
    await ensureDevice(store, address);
    const ownership = (await takeDevice(store, address, { owner: 'link', ttlMs: 60_000 }))!;
    const take = (phone: string) => takeAccount(store, ownership, { phone, nowMs: Date.now() });
    await take('447700900123');
    const messageId = await accept();
    expect(await take('447700900124')).to.deep.equal({ isOther: true });
    await giveDeviceBack(store, ownership);
    expect(await load(store, messageId)).to.equal(undefined);
    expect(await readSend(store, address, messageId)).to.deep.include({ state: 'closed' });
    expect((await readSend(store, address, messageId))!.counts).to.include({ queued: 0, cancelled: 2 });
  });

  it('whose time was over before an owner came, and whose content has gone since, has expired and not failed', async () => {
    const messageId = await accept({ kind: 'otp', expiresAtMs: Date.now() - HOUR_MS });
    expect(await load(space.store, messageId)).to.equal(undefined);
    expect((await readSend(space.store, address, messageId))!.counts).to.include({ expired: 2, failed: 0 });
  });

  const unknown: [string, object, number][] = [
    ['is of a kind that this version does not know', { kind: 'hologram', text: 'hello' }, 1],
    ['has fewer parts than the send', { kind: 'text', text: 'hello' }, 2],
  ];
  for (const [what, content, parts] of unknown) {
    it(`whose content ${what} fails it as a whole, and the log says so`, async () => {
      const messageId = await accept({ content: content as MessageContent, parts });
      expect(await load(space.store, messageId)).to.equal(undefined);
      expect((await readSend(space.store, address, messageId))!.counts).to.include({ queued: 0, failed: 2 });
      expect(errors).to.deep.equal([['send has content of an unknown kind', messageId]]);
    });
  }

  it('whose content cannot be read fails it as a whole', async () => {
    const { store } = space;
    const messageId = await accept();
    const { content } = sendKeys(store.space, address, parseMessageId(messageId)!.tag);
    await store.redis.set(content, JSON.stringify({ kind: 'text', text: 'not sealed' }));
    expect(await load(store, messageId)).to.equal(undefined);
    expect((await readSend(store, address, messageId))!.counts).to.include({ queued: 0, failed: 2 });
    expect(errors).to.deep.equal([['content of a send cannot be read', messageId]]);
  });

  it('that is large is one of a few that are read at a time, of all devices; a small one waits for none, nor does what is urgent', async () => {
    const deps = await makeDeps(space.store);
    let reading = 0;
    let most = 0;
    const readInTurn = async () => {
      most = Math.max(most, ++reading);
      await new Promise(setImmediate);
      reading--;
    };
    await Promise.all(Array.from({ length: 100 }, () => deps.memory.load(readInTurn)));
    expect(most).to.equal(16);
    const blocked = defer<void>();
    const others = Array.from({ length: 16 }, () => deps.memory.load(() => blocked.promise));
    const large = await accept({ content: { kind: 'text', text: 'x'.repeat(LIMITS.maxTextCharacters) } });
    const small = await accept();
    const loaded: string[] = [];
    const note = async (what: string, messageId: string, options: LoadOptions = {}) => {
      const send = await loadSend(deps, messageId, options);
      if (send !== undefined) loaded.push(`${what} of ${(send as SendProgress).count('waiting')}`);
    };
    const waits = [note('large', large), note('not wanted', large, { isOver: () => true })];
    await note('small', small);
    await note('urgent', large, { isUrgent: true });
    expect(loaded).to.deep.equal(['small of 2', 'urgent of 2']);
    blocked.resolve();
    await Promise.all([...others, ...waits]);
    expect(loaded).to.deep.equal(['small of 2', 'urgent of 2', 'large of 2']);
  });

  it('of another device, or of none, is nothing', async () => {
    await accept();
    expect(await load(space.store, 'msg_1')).to.equal(undefined);
    expect(errors).to.deep.equal([]);
  });
});
