import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { GatewayError } from '@gateway/runtime/errors';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { describeOptOut } from '@gateway/store/workspace/describe-opt-out';
import {
  addOptOuts,
  countOptOuts,
  findOptedOut,
  findOptOut,
  listOptOuts,
  placeOf,
  removeOptOut,
  takeBackOptOut,
} from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const AT_MS = 1_763_000_000_000;

describe('the list of those who opted out', () => {
  let space: RedisSpace;

  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  const add = async (numbers: string[], source: 'reply' | 'api' | 'cli' = 'api', atMs = AT_MS) =>
    (await addOptOuts(space.store, 'main', { numbers, source, atMs })).added;
  const remove = (number: string) => removeOptOut(space.store, 'main', number);
  const find = (number: string) => findOptOut(space.store, 'main', number);
  const count = () => countOptOuts(space.store, 'main');

  async function listAll(limit: number): Promise<string[][]> {
    const pages: string[][] = [];
    let after: string | undefined;
    do {
      const page = await listOptOuts(space.store, 'main', { limit, ...(after !== undefined && { after }) });
      pages.push(page.map(placeOf));
      after = page.length === limit ? placeOf(page.at(-1)!) : undefined;
    } while (after !== undefined);
    return pages;
  }

  it('loses no one on behalf of a token that is gone, with its workspace', async () => {
    await add(['447700900001']);
    const late = removeOptOut(space.store, 'main', '447700900001', 'api', 'gone');
    expect(await late.catch((thrown: unknown) => thrown)).to.be.instanceOf(WorkspaceGoneError);
    expect(await find('447700900001')).not.to.equal(undefined);
    const { token } = await createApiToken(space.store, 'main', { name: 'test' });
    expect(await removeOptOut(space.store, 'main', '447700900001', 'api', token.keyId)).to.equal(true);
  });

  it('keeps when and how each came onto it, whatever is added later', async () => {
    expect(await add(['447700900001', '447700900002'], 'reply')).to.equal(2);
    expect(await add(['447700900002', '447700900003', '447700900003'], 'api', AT_MS + 5_000)).to.equal(1);
    expect(await find('447700900002')).to.deep.equal({ phone: '447700900002', source: 'reply', atMs: AT_MS });
    expect(await find('447700900003')).to.deep.equal({ phone: '447700900003', source: 'api', atMs: AT_MS + 5_000 });
    expect(await find('447700900004')).to.equal(undefined);
    expect(await count()).to.equal(3);
  });

  it('tells many numbers at once, and only of its own workspace', async () => {
    await add(['447700900001', '447700900003']);
    const numbers = ['447700900001', '447700900002', '447700900003'];
    expect([...(await findOptedOut(space.store, 'main', numbers))]).to.deep.equal(['447700900001', '447700900003']);
    expect((await findOptedOut(space.store, 'other', numbers)).size).to.equal(0);
    expect((await findOptedOut(space.store, 'main', [])).size).to.equal(0);
  });

  it('holds as many people as it may, and every reply beyond that', async () => {
    const upTo = (max: number, numbers: string[]) =>
      addOptOuts(space.store, 'main', { numbers, source: 'api', atMs: AT_MS, max });
    expect(await upTo(2, ['447700900001'])).to.deep.equal({ added: 1, refused: 0 });
    const three = ['447700900001', '447700900002', '447700900003'];
    expect(await upTo(2, three)).to.deep.equal({ added: 1, refused: 1 });
    expect(await upTo(2, three.slice(0, 2)), 'who is on it stays').to.deep.equal({ added: 0, refused: 0 });
    expect(await add(['447700900009'], 'reply')).to.equal(1);
    expect(await upTo(2, three)).to.deep.equal({ added: 0, refused: 1 });
    expect(await count()).to.equal(3);
  });

  it('takes the ways to write one number for one person', async () => {
    const ways = [
      ['5531987654321', '553187654321'],
      ['5215512345678', '525512345678'],
      ['541123456789', '5491123456789'],
    ] as const;
    for (const [one, other] of ways) {
      expect(await add([one]), one).to.equal(1);
      expect(await add([other]), other).to.equal(0);
      expect([...(await findOptedOut(space.store, 'main', [other, one]))]).to.deep.equal([other, one]);
      expect(await remove(other)).to.equal(true);
    }
    // A landline, and the mobile number with a 9 before the same digits, are two people.
    await add(['553133334444']);
    expect(await find('5531933334444')).to.equal(undefined);
  });

  it('forgets whom an operator takes off it, once', async () => {
    await add(['447700900001', '447700900002'], 'reply');
    expect(await remove('447700900001')).to.equal(true);
    expect(await remove('447700900001')).to.equal(false);
    expect(await find('447700900001')).to.equal(undefined);
    expect(await count()).to.equal(1);
    await remove('447700900002');
    expect(await listAll(10)).to.deep.equal([[]]);
  });

  it('says that a person is not on it, or came off it, only when replicas know that, however often it is asked', async () => {
    let hasReplicas = true;
    const confirmWrites = async () => {
      if (!hasReplicas) throw new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
    };
    const store = { ...space.store, confirmWrites };
    const answerTo = (number: string) => removeOptOut(store, 'main', number).catch(({ code }: GatewayError) => code);
    await add(['447700900001', '12@lid']);
    hasReplicas = false;
    for (const number of ['447700900001', '12@lid', '447700900001', '12@lid', '447700900002'])
      expect(await answerTo(number), number).to.equal('not_confirmed');
    expect(await count()).to.equal(0);
    hasReplicas = true;
    for (const number of ['447700900001', '12@lid', '447700900002']) expect(await answerTo(number)).to.equal(false);
  });

  it('lets people take back what they asked for before, and not what an operator decided', async () => {
    const takeBack = (number: string, atMs: number) => takeBackOptOut(space.store, 'main', { number, atMs });
    await add(['447700900001'], 'reply');
    await add(['447700900002'], 'api');
    expect(await takeBack('447700900001', AT_MS - 60_000), 'an older message').to.equal(false);
    expect(await takeBack('447700900002', AT_MS + 60_000), 'an operator').to.equal(false);
    expect(await takeBack('447700900003', AT_MS + 60_000), 'not opted out').to.equal(false);
    expect(await takeBack('447700900001', AT_MS), 'in the same second').to.equal(true);
    expect(await count()).to.equal(1);
  });

  it('is listed page by page, each entry once, while others come and go', async () => {
    const numbers = Array.from({ length: 2_500 }, (_, i) => String(447_700_000_000 + i * 7));
    expect(await add(numbers)).to.equal(2_500);
    const pages = await listAll(100);
    expect(pages.slice(0, -1).every((page) => page.length === 100)).to.equal(true);
    expect(pages.flat().sort()).to.deep.equal([...numbers].sort());

    const [first] = await listAll(1_000);
    await remove(first!.at(-1)!);
    await add(['5531987654321']);
    const rest = await listOptOuts(space.store, 'main', { after: first!.at(-1)!, limit: 10_000 });
    const seen = new Set([...first!, ...rest.map(placeOf)]);
    expect(numbers.every((number) => seen.has(number))).to.equal(true);
    expect(seen.size).to.be.at.least(2_500).and.at.most(2_501);
  });

  it('shows a person by number, or by the hidden identifier of one whose number is not known', () => {
    const entry = { source: 'reply', atMs: AT_MS } as const;
    const shown = { source: 'reply', at: new Date(AT_MS).toISOString() };
    expect(describeOptOut({ phone: '447700900001', ...entry })).to.deep.equal({ phone: '447700900001', ...shown });
    const hidden = { phone: null, hiddenId: '12@lid', ...shown };
    expect(describeOptOut({ hiddenId: '12@lid', ...entry })).to.deep.equal(hidden);
  });

  it('takes 40 bytes a person at most', async () => {
    const numbers = Array.from({ length: 40_000 }, (_, i) => String(447_700_000_000 + i * 7));
    await add(numbers);
    const keys = workspaceKeys(space.store.space, 'main');
    const buckets = Array.from({ length: 4_096 }, (_, bucket) => keys.optOuts(bucket));
    const sizes = await Promise.all(buckets.map((bucket) => space.store.redis.memory('USAGE', bucket)));
    const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    expect(bytes / numbers.length).to.be.below(40);
  });
});
