import { consoleKeys } from '@gateway/contracts/redis-keys';
import { listAudit, recordAudit } from '@gateway/store/console/audit';
import { createOneTimeLink, takeOneTimeLink } from '@gateway/store/console/one-time-links';
import { endSession, endSessionsOf, keepSession, readSession, writeSession } from '@gateway/store/console/sessions';
import { createUser, ensureFirstUser, findUser, hasThatPassword, setPassword } from '@gateway/store/console/users';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

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
});
