import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { launcherConfig } from '@gateway/scripts/config';
import { placeOf } from '@gateway/scripts/gateway/choose-network';
import { findFreePort } from '@gateway/scripts/gateway/find-free-port';
import { ROOT, STATE_FOLDER } from '@gateway/scripts/paths';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const execute = promisify(execFile);

interface Ended {
  code?: number;
  stdout: string;
  stderr: string;
}

describe('the commands, as people type them', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());

  function run(program: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
    const options = { cwd: ROOT, env: environment(env) };
    return execute(program, args, options).catch((error: Ended) => error);
  }

  function environment(env: Record<string, string>): NodeJS.ProcessEnv {
    const own = { REDIS_URL: space.url, KEY_PREFIX: space.prefix, ...space.keySettings, ...env };
    return { ...launcherConfig.environment, npm_lifecycle_event: '', ...own };
  }

  async function readUntil(output: Readable, words: string): Promise<string> {
    let text = '';
    for await (const piece of output) {
      text += String(piece);
      if (text.includes(words)) return text;
    }
    throw new Error(`it ended without "${words}": ${text}`);
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
      DASHBOARD_PORT: '0',
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

  it('`npm start` with a MESSENGER_URL on this host says that it is a stand-in, and keeps its data apart under any KEY_PREFIX', async () => {
    const url = `ws://127.0.0.1:${await findFreePort()}/ws/chat`;
    const env = {
      ...{ MESSENGER_URL: url, MESSENGER_TRUST: 'insecure', LOG_LEVEL: 'error' },
      ...{ API_PORT: `${await findFreePort()}`, OPS_PORT: `${await findFreePort()}` },
      DASHBOARD_PORT: `${await findFreePort()}`,
    };
    const prefix = `${space.prefix}${placeOf({ kind: 'standIn', url }).keySuffix}`;
    const gateway = spawn('node', ['scripts/launch.mjs', 'start'], { cwd: ROOT, env: environment(env) });
    const ended = once(gateway, 'exit');
    try {
      const told = await readUntil(gateway.stdout, 'token create');
      expect(told).to.include(`a stand-in on this host, at ${url}: no phone gets anything`);
      await signIn(/http:\S+#link=\S+/.exec(told)![0]);
      const made = await run('node', ['scripts/launch.mjs', 'cli', 'token', 'create', '--name', 'app'], env);
      expect(made.stderr).to.include('On the gateway that runs here, for a stand-in on this host.');
      const { commands } = space.clients;
      expect(await commands.keys(`${prefix}:*`)).to.not.have.length(0);
      expect(await commands.keys(`${space.prefix}:*`), 'where accounts of the real network would be').to.deep.equal([]);
    } finally {
      gateway.kill('SIGTERM');
      await ended;
      const keys = await space.clients.commands.keys(`${prefix}:*`);
      if (keys.length > 0) await space.clients.commands.unlink(...keys);
      rmSync(`${STATE_FOLDER}/${placeOf({ kind: 'standIn', url }).folder}`, { recursive: true, force: true });
    }
  });

  /** With what the link says after its `#`, as the page does. */
  async function signIn(link: string): Promise<void> {
    const { origin, hash } = new URL(link);
    expect(await (await fetch(link)).text()).to.include('<div id="root">');
    const answer = await fetch(`${origin}/console/api/sign-in/link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ secret: hash.slice('#link='.length) }),
    });
    expect(await answer.json()).to.deep.include({ user: { name: 'admin', role: 'admin', hasPassword: false } });
  }

  it('`cli --json` prints JSON alone, and says beside it which installation that is of', async () => {
    const { stdout, stderr } = await run('node', ['scripts/launch.mjs', 'cli', 'token', 'list', '--json']);
    expect(JSON.parse(stdout)).to.deep.equal([]);
    expect(stderr).to.match(
      /^On the .*, for the real network|^On the installation for the real network: .*--simulator/m,
    );
  });
});
