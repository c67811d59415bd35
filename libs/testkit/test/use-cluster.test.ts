import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allScripts } from '@gateway/testkit/redis-servers/all-scripts';
import { expect } from 'chai';

/** A run of tests that runs one step, and loads what has to do with it. */
const run = (scriptsFile: string) => `
  import { mochaGlobalSetup, mochaGlobalTeardown } from '${import.meta.resolve('@gateway/testkit/redis-servers/use-cluster')}';
  import { openRedisSpace } from '${import.meta.resolve('@gateway/testkit/redis-space')}';
  import '${import.meta.resolve('@gateway/store/sends/accepting/idempotency')}';
  process.env.SCRIPTS_FILE = '${scriptsFile}';
  await mochaGlobalSetup();
  try {
    const space = await openRedisSpace();
    await space.store.run('close-repeat', ['repeat', 'device'].map((name) => space.prefix + ':{slot}:' + name), [1]);
    await space.close();
  } finally {
    await mochaGlobalTeardown();
  }`;

describe('tests on a Cluster', () => {
  it('tell of every Lua step whether it ran, also of those that none of them loads', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-scripts-'));
    const file = join(folder, 'scripts');
    try {
      const args = ['--input-type=module', '--eval', run(file)];
      const child = spawn(process.execPath, args, { stdio: 'inherit' });
      expect((await once(child, 'exit'))[0]).to.equal(0);
      const told = readFileSync(file, 'utf8').trim().split('\n');
      const all = (await allScripts()).map(({ name }) => `${name} ${name === 'close-repeat' ? 'ran' : 'not'}`);
      expect(told.sort()).to.deep.equal(all.sort());
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
