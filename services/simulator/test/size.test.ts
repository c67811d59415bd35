import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);

describe('what things weigh', () => {
  async function weigh(what: 'numbers' | 'phones' | 'clients'): Promise<{ bytesEach: number; phones: number }> {
    const program = fileURLToPath(new URL('./fixtures/weigh.js', import.meta.url));
    const { stdout } = await run(process.execPath, ['--expose-gc', program, what]);
    return JSON.parse(stdout);
  }

  it('nothing, for a million unused numbers', async () => {
    const { bytesEach, phones } = await weigh('numbers');
    expect(bytesEach).to.be.below(1);
    expect(phones).to.equal(0);
  });

  it('less than 3 kB, for a phone without a session', async () => {
    const { bytesEach, phones } = await weigh('phones');
    expect(bytesEach).to.be.within(100, 3_000);
    expect(phones).to.equal(20_000);
  });

  it('less than 100 kB, for a linked client with all its keys', async () => {
    expect((await weigh('clients')).bytesEach).to.be.within(1_000, 100_000);
  });
});
