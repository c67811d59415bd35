import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startTlsRedis, type TlsRedis } from '@gateway/testkit/redis-servers/tls-redis';
import { expect } from 'chai';

const USER = fileURLToPath(new URL('./fixtures/redis-user.js', import.meta.url));

describe('TLS to Redis, with a certificate for its name', () => {
  let redis: TlsRedis;
  before(async () => {
    redis = await startTlsRedis();
  });
  after(() => redis.stop());

  async function use(url: string, waitMs = 10_000): Promise<string[] | null> {
    const env = { NODE_EXTRA_CA_CERTS: redis.certificateFile };
    const { stdout } = await promisify(execFile)(process.execPath, [USER, url, String(waitMs)], {
      env,
      timeout: 30_000,
    });
    return stdout.match(/^(read|heard|refused).*/gm);
  }

  for (const kind of ['clusterUrl', 'sentinelUrl'] as const) {
    it(`connects to a ${kind === 'clusterUrl' ? 'Cluster' : 'master and its Sentinels'} by name`, async () => {
      expect(await use(redis[kind])).to.deep.equal(['read value', 'heard bell']);
    });
  }

  it('refuses one whose certificate is for another name', async () => {
    expect(await use(redis.clusterUrl.replace('localhost', '127.0.0.1'), 2_000)).to.deep.equal(['refused']);
  });
});
