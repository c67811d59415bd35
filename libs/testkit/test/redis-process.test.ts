import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { expect } from 'chai';

const START_AND_EXIT = `
  import { eventually } from '@gateway/testkit/eventually';
  import { askServer } from '@gateway/testkit/redis-servers/ask-server';
  import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
  const { url } = await RedisProcess.start();
  await eventually(() => askServer(url, 'PING'));
  process.stdout.write(url, () => process.exit(1));
`;

async function isThere(url: string): Promise<boolean> {
  return askServer(url, 'PING').then(
    () => true,
    () => false,
  );
}

describe('a Redis of a test', () => {
  it('does not outlive the process that started it, which ends in the middle of its work', async () => {
    const flags = ['--input-type=module', '-e', START_AND_EXIT];
    const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
    let url = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      url += text;
    });
    await once(child, 'close');
    expect(url).to.match(/^redis:/);
    await eventually(async () => !(await isThere(url)));
  });

  it('does not come back once it was stopped', async () => {
    const redis = await RedisProcess.start();
    await eventually(() => isThere(redis.url));
    await redis.stop();
    redis.restart();
    const back = eventually(() => isThere(redis.url), { timeoutMs: 500 });
    expect(await back.catch(() => 'stays away')).to.equal('stays away');
  });

  it('is in its next life what a Sentinel has made of it, and has room again', async () => {
    const master = await RedisProcess.start();
    const redis = await RedisProcess.start({ replicaOf: master.port });
    const role = async () => ((await askServer(redis.url, 'ROLE')) as string[])[0];
    try {
      expect(await eventually(role)).to.equal('slave');
      await askServer(redis.url, 'CONFIG', 'SET', 'maxmemory', 100_000_000);
      // As Sentinels do.
      await askServer(redis.url, 'REPLICAOF', 'NO', 'ONE');
      await askServer(redis.url, 'CONFIG', 'REWRITE');
      await redis.killAndRestart();
      expect(await eventually(role)).to.equal('master');
      expect(await askServer(redis.url, 'CONFIG', 'GET', 'maxmemory')).to.deep.equal(['maxmemory', '0']);
    } finally {
      for (const each of [master, redis]) await each.stop();
    }
  });
});
