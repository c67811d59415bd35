import { parseMessageId } from '@gateway/contracts/ids';
import { systemClock } from '@gateway/runtime/clock';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { keepSurely } from '@gateway/store/inbound/keep-surely';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, recordResults } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { recordStop } from '@gateway/store/workspace/hidden-opt-outs';
import { addOptOuts, findOptOut, removeOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { silentLogger as logger, silentLogger } from '@gateway/testkit/silent-logger';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';

const ADDRESS = { workspace: 'main', device: 'phone-1' };
const HOUR_MS = 3_600_000;

describe('a full Redis with a replica that must confirm', () => {
  let redis: SmallRedis;
  let replica: RedisProcess;
  let clients: RedisClients<'confirms'>;
  let stopWatch: () => void;
  let store: Store;

  before(async () => {
    redis = await startSmallRedis();
    replica = await RedisProcess.start({ replicaOf: Number(new URL(redis.space.url).port) });
    clients = createRedisClients({ url: redis.space.url, logger, purposes: ['confirms'] });
    await clients.waitForReady();
    const { confirm, stop } = confirmByReplicas(clients.confirms, 1);
    stopWatch = stop;
    // A replica that a busy machine keeps from its work is doubted for seconds: what counts here is that it confirms at all.
    const confirmWrites = async (key: string) => {
      await eventually(() => confirm(redis.space.store.redis, key).then(() => true), { timeoutMs: 30_000 });
    };
    store = { ...redis.space.store, confirmWrites };
    await ensureDevice(store, ADDRESS);
    await eventually(async () => (await store.redis.info('replication')).includes('state=online'));
  });
  after(async () => {
    stopWatch();
    await clients.close();
    await replica.stop();
    await redis.close();
  });
  afterEach(() => redis.empty());

  const accept = async () => {
    const { messageId } = (await acceptSend(store, ADDRESS, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['4915112345670'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + HOUR_MS },
    }))!;
    return messageId;
  };

  it('confirms that a send was cancelled', async () => {
    const messageId = await accept();
    await redis.fill();
    expect(await cancelSend(store, ADDRESS, messageId)).to.deep.equal({ cancelled: 1 });
  });

  it('confirms a STOP, and that someone is written to again', async () => {
    const [stops, returns] = ['447700900555', '447700900556'];
    await addOptOuts(store, 'main', { numbers: [returns], source: 'api', atMs: Date.now() });
    await redis.fill();
    await recordStop(store, 'main', { phone: stops, atMs: Date.now() });
    await removeOptOut(store, 'main', returns);
    expect(
      [await findOptOut(store, 'main', stops), await findOptOut(store, 'main', returns)].map(Boolean),
    ).to.deep.equal([true, false]);
  });

  it('confirms what the network tells of messages', async () => {
    const messageId = await accept();
    const ownership = (await takeDevice(store, ADDRESS, { owner: 'a', ttlMs: HOUR_MS }))!;
    await redis.fill();
    const { tag } = parseMessageId(messageId)!;
    const events = [{ recipient: 0, part: 0, event: 'acked' as const }];
    let writes = 0;
    await keepSurely({ store, ownership, clock: systemClock, logger: silentLogger }, () => {
      writes++;
      return recordResults(store, ownership, { tag, nowMs: Date.now(), events });
    });
    expect(writes).to.equal(1);
    expect((await readSend(store, ADDRESS, messageId))?.counts).to.include({ queued: 0, sent: 1 });
  });

  it('takes nothing new all the same', async () => {
    await redis.fill();
    expect(await accept().catch((error: Error) => error.message)).to.match(/^OOM /);
  });
});
