import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { makeMemoryBound } from '@gateway/testkit/attacks/memory-bound';
import { expect } from 'chai';

const MEGABYTE = 1024 * 1024;
const TAKE = 'Buffer.alloc(process.argv[1] * 1024 * 1024, 1)';

describe('a bound of memory', () => {
  it('ends what takes more, and nothing else', async function () {
    const bound = makeMemoryBound(100 * MEGABYTE);
    if (!bound) {
      console.warn('no control group can be made here: nothing is known of bounds of memory');
      return this.skip();
    }
    const take = async (megabytes: number) => {
      const [command, ...args] = [...bound.prefix, process.execPath, '-e', TAKE, String(megabytes)];
      return once(spawn(command!, args, { stdio: 'ignore' }), 'exit');
    };
    try {
      expect([await take(10), bound.kills()]).to.deep.equal([[0, null], 0]);
      expect([await take(200), bound.kills()]).to.deep.equal([[null, 'SIGKILL'], 1]);
    } finally {
      bound.remove();
    }
  });
});
