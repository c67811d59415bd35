import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { launcherConfig } from '@gateway/scripts/config';
import { findFreePort } from '@gateway/scripts/gateway/find-free-port';
import { ROOT } from '@gateway/scripts/paths';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const execute = promisify(execFile);

interface Ended {
  code?: number;
  stdout: string;
  stderr: string;
}

describe('the commands, as people type them', function () {
  this.timeout(30_000);
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());

  function run(program: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
    const own = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, ...space.keySettings, ...env };
    const options = { cwd: ROOT, env: { ...launcherConfig.environment, npm_lifecycle_event: '', ...own } };
    return execute(program, args, options).catch((error: Ended) => error);
  }

  it('`npm start --simulator` means the simulator, and a port that is taken is told in one line', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const opsPort = String(await findFreePort());
    // Only a start with the simulator asks for its port.
    const ended = await run('npm', ['start', '--simulator'], {
      SIMULATOR_PORT: `${port}`,
      API_PORT: '0',
      OPS_PORT: opsPort,
    });
    holder.close();
    const told = ended.stderr.split('\n').filter((line) => line && !line.startsWith('npm '));
    expect(ended.code, ended.stderr).to.equal(1);
    expect(told).to.include(
      `Port ${port} of 127.0.0.1, for the simulator, is taken: end what listens there, or choose another with SIMULATOR_PORT.`,
    );
    for (const line of told) expect(line).to.match(/^Port \d+ /);
  });

  it('`cli --json` prints JSON alone, and says beside it which installation that is of', async () => {
    const { stdout, stderr } = await run('node', ['scripts/launch.mjs', 'cli', 'token', 'list', '--json']);
    expect(JSON.parse(stdout)).to.deep.equal([]);
    expect(stderr).to.match(
      /^On the .*, for the real network|^On the installation for the real network: .*--simulator/m,
    );
  });
});
