import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@gateway/scripts/paths';
import { announceRun, type TestCounts } from '@gateway/scripts/tests/test-counts';
import { expect } from 'chai';

describe('the counts of a run of tests', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'counts-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs one test file the way the launcher does, to its end, and reads its counts. */
  async function countsOf(test: string): Promise<TestCounts> {
    const file = join(folder, 'one.test.mjs');
    writeFileSync(file, test);
    const counts = announceRun(folder, 'run-1');
    const reporter = ['--reporter', 'scripts/dist/tests/counting-reporter.js', '--reporter-option', `counts=${counts}`];
    const args = ['scripts/dist/tests/run-mocha.js', '--no-config', ...reporter, file];
    await promisify(execFile)(process.execPath, args, { cwd: ROOT }).catch(() => undefined);
    return JSON.parse(readFileSync(counts, 'utf8')) as TestCounts;
  }

  it('are those of its tests', async () => {
    const counts = await countsOf("it('holds', () => {}); it('does not', () => { throw new Error('no'); });");
    expect(counts).to.include({ passed: 1, failed: 1, skipped: 0 });
  });

  it('have a failure when the run died before its end', async () => {
    const counts = await countsOf("it('holds', () => {}); it('dies', () => process.kill(process.pid, 'SIGKILL'));");
    expect(counts).to.include({ passed: 0, failed: 1 });
  });
});
