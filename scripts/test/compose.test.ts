import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { findFreePort } from '@gateway/scripts/gateway/find-free-port';
import { ROOT } from '@gateway/scripts/paths';
import { findRedisServer } from '@gateway/scripts/redis/find-redis-server';
import { expect } from 'chai';

const PASSWORD = 'a password with spaces';

describe('docker-compose.yml', () => {
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');

  it('has no secret in a command line', () => {
    const commands = text.split('\n').filter((line) => /^\s*(command|test|entrypoint):/.test(line));
    expect(commands).to.have.length.above(1);
    for (const command of commands) expect(command).not.to.match(/PASSWORD|KEYS|REDIS_URL/);
  });

  it('starts a Redis that asks for the password all the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'compose-'));
    const passwordFile = join(folder, 'password.conf');
    writeFileSync(passwordFile, /^ {4}content: (requirepass .*)$/m.exec(text)![1]!.replace(/\$\{.*\}/, PASSWORD));
    const port = await findFreePort();
    const [, ...args] = /command: \[(redis-server.*)\]/
      .exec(text)![1]!
      .replace('/etc/redis/redis.conf', join(ROOT, 'deploy/redis.conf'))
      .replace('/etc/redis/password.conf', passwordFile)
      .split(', ');
    const here = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    const redis = spawn(await findRedisServer(), [...args, ...here], { stdio: 'ignore' });
    const exited = once(redis, 'exit');
    const url = `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
    const clients = createRedisClients({ url, logger: createLogger({ service: 'test', level: 'error' }) });
    try {
      await clients.waitForReady();
      expect(await clients.commands.config('GET', 'requirepass')).to.deep.equal(['requirepass', PASSWORD]);
      expect(redis.spawnargs.join(' ')).not.to.include(PASSWORD);
    } finally {
      await clients.close();
      redis.kill();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
