import { consoleKeys } from '@gateway/contracts/redis-keys';
import { listAudit, recordAudit } from '@gateway/store/console/audit';
import { createOneTimeLink, takeOneTimeLink } from '@gateway/store/console/one-time-links';
import { endSession, endSessionsOf, keepSession, readSession, writeSession } from '@gateway/store/console/sessions';
import {
  createUser,
  ensureFirstUser,
  findUser,
  hasThatPassword,
  listUsers,
  setPassword,
} from '@gateway/store/console/users';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { askingTwice } from './support/asking-twice.js';

const LINK_MS = 10 * 60_000;
const IDLE_MS = 8 * 60 * 60_000;
const END_MS = 7 * 24 * 60 * 60_000;

describe('what the console keeps', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  /** All that Redis holds of the console, as text. */
  async function everything(): Promise<string> {
    const { redis } = space.store;
    const keys = await redis.keys(`${space.prefix}:*`);
    const dumps = await Promise.all(keys.map(async (key) => `${key} ${await redis.dumpBuffer(key)}`));
    return dumps.join('\n');
  }

  describe('users', () => {
    it('the first start makes admin, once, whichever process is first', async () => {
      const made = await Promise.all(Array.from({ length: 5 }, () => ensureFirstUser(space.store)));
      expect(made.filter(Boolean)).to.have.length(1);
      expect(await findUser(space.store, 'admin')).to.include({ role: 'admin', hasPassword: false });
      expect(await ensureFirstUser(space.store)).to.equal(undefined);
    });

    it('a name is given once', async () => {
      expect(await createUser(space.store, 'ann', 'viewer')).to.include({ name: 'ann', role: 'viewer' });
      expect(await createUser(space.store, 'ann', 'admin')).to.equal(undefined);
      expect(await findUser(space.store, 'ann')).to.include({ role: 'viewer' });
    });

    it('are made where a step comes twice, as its first answer was lost, and where the version before had only begun', async () => {
      expect(await createUser(askingTwice(space.store), 'ann', 'viewer')).to.include({ name: 'ann', role: 'viewer' });
      expect(await createUser(askingTwice(space.store), 'ann', 'admin')).to.equal(undefined);
      await space.store.redis.hset(consoleKeys(space.store.space).user('bob'), {
        createdAtMs: 1,
        hash: 'of a former bob',
      });
      expect(await createUser(space.store, 'bob', 'viewer')).to.include({ role: 'viewer', hasPassword: false });
      expect((await listUsers(space.store)).map(({ name }) => name)).to.deep.equal(['ann', 'bob']);
    });

    it('a password opens its own account only, and is stored as argon2id', async () => {
      await createUser(space.store, 'ann', 'viewer');
      expect(await hasThatPassword(space.store, 'ann', 'no password of anyone')).to.equal(false);
      await setPassword(space.store, 'ann', 'correct horse battery');
      expect(await hasThatPassword(space.store, 'ann', 'correct horse battery')).to.equal(true);
      expect(await hasThatPassword(space.store, 'ann', 'correct horse batter')).to.equal(false);
      expect(await hasThatPassword(space.store, 'bob', 'correct horse battery')).to.equal(false);
      const stored = await space.store.redis.hget(consoleKeys(space.store.space).user('ann'), 'hash');
      expect(stored).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    });
  });

  describe('sessions', () => {
    const session = () => ({ user: 'ann', createdAtMs: Date.now(), text: '{}' });

    it('lie under the hash of their id', async () => {
      await writeSession(space.store, 'the-cookie', session());
      expect(await readSession(space.store, 'the-cookie')).to.include({ user: 'ann' });
      expect(await everything()).not.to.include('the-cookie');
    });

    it('end eight hours after their last use, and seven days after they began', async () => {
      const { redis } = space.store;
      const [key] = await keyOf('fresh', session());
      expect(await redis.pttl(key!)).to.be.within(IDLE_MS - 5_000, IDLE_MS);
      await redis.pexpire(key!, 60_000);
      await keepSession(space.store, 'fresh', session());
      expect(await redis.pttl(key!)).to.be.within(IDLE_MS - 5_000, IDLE_MS);

      const old = { ...session(), createdAtMs: Date.now() - END_MS + 60_000 };
      await keepSession(space.store, 'fresh', old);
      expect(await redis.pttl(key!)).to.be.within(50_000, 60_000);

      await writeSession(space.store, 'past', { ...session(), createdAtMs: Date.now() - END_MS });
      expect(await readSession(space.store, 'past')).to.equal(undefined);
    });

    it('that have ended are not brought back by their use', async () => {
      await writeSession(space.store, 'one', session());
      await endSession(space.store, 'one');
      await keepSession(space.store, 'one', session());
      expect(await readSession(space.store, 'one')).to.equal(undefined);
      await endSession(space.store, 'one');
    });

    it('of one user end all at once, those of others go on', async () => {
      await writeSession(space.store, 'one', session());
      await writeSession(space.store, 'two', session());
      await writeSession(space.store, 'other', { ...session(), user: 'bob' });
      await endSessionsOf(space.store, 'ann');
      const found = await Promise.all(['one', 'two', 'other'].map((id) => readSession(space.store, id)));
      expect(found.map((each) => each?.user)).to.deep.equal([undefined, undefined, 'bob']);
    });

    async function keyOf(id: string, record: ReturnType<typeof session>): Promise<string[]> {
      await writeSession(space.store, id, record);
      return space.store.redis.keys(`${space.prefix}:*:session:*`);
    }
  });

  describe('one-time links', () => {
    beforeEach(() => ensureFirstUser(space.store));

    it('work once, and of callers at the same time for one', async () => {
      const secret = await createOneTimeLink(space.store, 'admin');
      const used = await Promise.all(Array.from({ length: 5 }, () => takeOneTimeLink(space.store, secret)));
      expect(used.filter((user) => user?.name === 'admin')).to.have.length(1);
      expect(await takeOneTimeLink(space.store, 'another')).to.equal(undefined);
    });

    it('end after ten minutes, and Redis never holds their secret', async () => {
      const secret = await createOneTimeLink(space.store, 'admin');
      expect(await everything()).not.to.include(secret);
      const [key] = await space.store.redis.keys(`${space.prefix}:*:one-time-link:*`);
      expect(await space.store.redis.pttl(key!)).to.be.within(LINK_MS - 5_000, LINK_MS);
    });
  });

  it('the audit log tells who did what, the newest first, page by page', async () => {
    for (let count = 0; count < 101; count++) {
      await recordAudit(space.store, { user: 'ann', action: 'token.created', target: `${count}` });
    }
    const page = await listAudit(space.store);
    expect(page).to.have.length(100);
    expect(page[0]).to.include({ user: 'ann', action: 'token.created', target: '100' });
    const rest = await listAudit(space.store, { before: page.at(-1)!.id });
    expect(rest.map(({ target }) => target)).to.deep.equal(['0']);
  });

  it('the audit log of people loses no line to programs, nor that of one program to another, and is read as one', async () => {
    const entry = { user: 'x', action: 'device.disconnected', workspace: 'shop' } as const;
    await recordAudit(space.store, { ...entry, user: 'ann' });
    await recordAudit(space.store, { ...entry, user: 'quiet' }, 'k2');
    for (let count = 0; count < 10_200; count += 300) {
      const lines = Array.from({ length: 300 }, (_, i) => ({ ...entry, user: 'loud', target: `${count + i}` }));
      await Promise.all(lines.map((line) => recordAudit(space.store, line, 'k1')));
    }
    await recordAudit(space.store, { user: 'ann', action: 'user.created', workspace: 'shop' });
    const lines: Awaited<ReturnType<typeof listAudit>> = [];
    for (let page = await listAudit(space.store); page.length > 0; ) {
      lines.push(...page);
      page = await listAudit(space.store, { before: page.at(-1)!.id });
    }
    expect(new Set(lines.map(({ id }) => id)).size).to.equal(lines.length);
    expect(lines.filter(({ user }) => user === 'loud').map(({ target }) => Number(target))).to.deep.equal(
      Array.from({ length: 10_000 }, (_, i) => 10_199 - i),
    );
    const others = lines.filter(({ user }) => user !== 'loud').map(({ user, workspace }) => [user, workspace]);
    expect(others).to.have.deep.members([
      ['ann', undefined],
      ['quiet', 'shop'],
      ['ann', 'shop'],
    ]);
  });

  it('the audit log takes no room for lines that went from between those of other programs', async () => {
    const { auditOfPrograms: log, auditLines } = consoleKeys(space.store.space);
    const limits = { oldestMs: 0, most: 10_000, mostOfOne: 50, mostNodes: 20, keptMs: 60_000 };
    for (let count = 0; count < 2_000; count++) {
      // The one stays within what each may have, and has a line between those of the other all along.
      const program = count % 40 === 0 ? 'quiet' : 'loud';
      const line = ['user', program, 'target', 'x'.repeat(100), 'atMs', Date.now()];
      await space.store.run('record-change', [log, auditLines(program)], [...Object.values(limits), ...line]);
    }
    const info = (await space.store.redis.xinfo('STREAM', log)) as unknown[];
    expect(info[info.indexOf('radix-tree-keys') + 1]).to.be.within(19, 21);
    const [first] = await listAudit(space.store);
    expect(first).to.include({ user: 'loud' });
  });

  it('the audit log tells each line once where two of them are of one moment', async () => {
    const { audit, auditOfPrograms } = consoleKeys(space.store.space);
    const nowMs = Date.now();
    for (let count = 0; count < 250; count++) {
      for (const log of [audit, auditOfPrograms])
        await space.store.redis.xadd(log, `${nowMs + count}-0`, 'user', log, 'atMs', nowMs + count);
    }
    const found: string[] = [];
    for (let page = await listAudit(space.store); page.length > 0; ) {
      found.push(...page.map(({ user, atMs }) => `${atMs} ${user}`));
      page = await listAudit(space.store, { before: page.at(-1)!.id });
    }
    const all = Array.from({ length: 250 }, (_, i) => nowMs + 249 - i);
    expect(found).to.deep.equal(all.flatMap((ms) => [audit, auditOfPrograms].map((log) => `${ms} ${log}`)));
  });
});
