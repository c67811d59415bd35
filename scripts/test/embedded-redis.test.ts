import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { refuseWrongSettings } from '@gateway/runtime/redis/redis-settings';
import { startEmbeddedRedis } from '@gateway/scripts/redis/start-embedded-redis';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const logger = createLogger({ service: 'test', level: 'error' });

describe('the embedded Redis', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'embedded-redis-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is fit to hold messages, keeps them over a restart, and ends with its lifecycle', async () => {
    for (const expected of [null, 'kept']) {
      const lifecycle = new Lifecycle({ logger });
      const url = await startEmbeddedRedis(lifecycle, { folder });
      const clients = createRedisClients({ url, logger });
      lifecycle.add('clients', () => clients.close());
      await clients.waitForReady();
      await refuseWrongSettings(clients.commands);
      expect(await clients.commands.get('key')).to.equal(expected);
      await clients.commands.set('key', 'kept');
      const pid = redisPid();
      await lifecycle.stop();
      expect(isAlive(pid)).to.equal(false);
    }
  });

  it('refuses to share its data with another one', async () => {
    const lifecycle = new Lifecycle({ logger });
    await startEmbeddedRedis(lifecycle, { folder });
    const second = startEmbeddedRedis(lifecycle, { folder, folderTimeoutMs: 200 });
    expect(await second.catch((error) => error)).to.include({ code: 'data_in_use' });
    await lifecycle.stop();
  });

  it('ends soon after a launcher that was killed', async () => {
    const fixture = fileURLToPath(new URL('./fixtures/launcher.js', import.meta.url));
    const launcher = spawn(process.execPath, [fixture, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: launcher.stdout })) if (line.startsWith('started')) break;
    const pid = redisPid();
    expect(isAlive(pid)).to.equal(true);
    launcher.kill('SIGKILL');
    await eventually(() => !isAlive(pid), { what: 'the end of Redis' });
  });

  function redisPid(): number {
    expect(existsSync(`${folder}/redis.pid`)).to.equal(true);
    return Number(readFileSync(`${folder}/redis.pid`, 'utf8'));
  }
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
