import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const execute = promisify(execFile);

/** A machine without Redis: its package manager installs one, and refuses to run twice at a time as the real one does. */
const PROGRAMS = {
  sudo: 'shift; exec "$@"',
  'apt-get': `case "$*" in *--version*) exit 0;; esac
mkdir "$MACHINE/lock" 2>/dev/null || exit 100
/bin/sleep 0.2
case "$*" in *install*) printf '#!/bin/sh\\necho "Redis server v=7.0.15"\\n' > "$MACHINE/redis-server"; /bin/chmod +x "$MACHINE/redis-server";; esac
/bin/rmdir "$MACHINE/lock"`,
  systemctl: 'exit 1',
  service: 'exit 1',
};

describe('finding a Redis', () => {
  let machine: string;
  beforeEach(() => {
    machine = mkdtempSync(join(tmpdir(), 'machine-'));
    for (const [name, script] of Object.entries(PROGRAMS)) {
      writeFileSync(join(machine, name), `#!/bin/sh\nPATH="$MACHINE:/usr/bin:/bin"\n${script}\n`);
      chmodSync(join(machine, name), 0o755);
    }
    writeFileSync(join(machine, 'env'), '#!/bin/sh\nexec /usr/bin/env "$@"\n');
    chmodSync(join(machine, 'env'), 0o755);
  });
  afterEach(() => rmSync(machine, { recursive: true, force: true }));

  it('installs one on a machine without, also when two ask at a time', async () => {
    const ask = `import { findRedisServer } from '@gateway/scripts/redis/find-redis-server';
      console.log((await Promise.all([findRedisServer(), findRedisServer()])).join());`;
    const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', ask], {
      env: { PATH: machine, MACHINE: machine },
    });
    expect(stdout.trim()).to.equal('redis-server,redis-server');
  });
});
