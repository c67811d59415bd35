import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@gateway/scripts/paths';
import { announceRun, type TestCounts, writeCounts } from '@gateway/scripts/tests/test-counts';
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
    expect(counts.failures).to.deep.equal(['does not: no']);
  });

  it('name each failed test and hook by the titles that lead to it, and by the first line of its error', async () => {
    const { failed, failures } = await countsOf(`
      describe('a part', () => {
        describe('of it', () => { it('does not hold', () => { throw new Error('not so\\nby far'); }); });
        describe('prepared', () => { before('the ground', () => { throw 'none'; }); it('never runs', () => {}); });
      });`);
    expect(failed).to.equal(2);
    expect(failures[0]).to.equal('a part > of it > does not hold: not so');
    expect(failures[1]).to.match(/^a part > prepared > "before all" hook: the ground.*none/);
  });

  it('have a failure when the run died before its end, and name where, and what had failed until then', async () => {
    const counts = await countsOf(
      "it('fails', () => { throw new Error('no'); }); it('dies', () => process.kill(process.pid, 'SIGKILL'));",
    );
    expect(counts).to.include({ passed: 0, failed: 2 });
    expect(counts.failures).to.deep.equal(['fails: no', 'dies: the run died in it']);
  });

  it('are told at the end of all steps: the failed tests, the failed steps, and the sums last', async () => {
    const usual = join(folder, 'usual');
    writeCounts(announceRun(usual, 'run-1'), {
      passed: 3,
      failed: 1,
      skipped: 0,
      failures: ['a > b: no'],
      seconds: {},
    });
    announceRun(usual, 'run-2');
    const tell = ['scripts/tell-results.mjs', 'tests,long tests', usual, join(folder, 'long')];
    const { stdout } = await promisify(execFile)(process.execPath, tell, { cwd: ROOT });
    expect(stdout.trim().split('\n')).to.deep.equal([
      'Failed tests:',
      '  usual: a > b: no',
      '  usual: run-2 died before its first test',
      '  long: the tests did not start',
      '',
      'Failed: tests,long tests',
      '3 passed, 3 failed',
    ]);
  });

  it('are told in one line when nothing failed', async () => {
    writeCounts(announceRun(folder, 'run-1'), { passed: 3, failed: 0, skipped: 0, failures: [], seconds: {} });
    const { stdout } = await promisify(execFile)(process.execPath, ['scripts/tell-results.mjs', '', folder], {
      cwd: ROOT,
    });
    expect(stdout).to.equal('3 passed, 0 failed\n');
  });
});
