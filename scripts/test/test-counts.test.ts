import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@gateway/scripts/paths';
import { announceRun, countExit, type TestCounts, writeCounts } from '@gateway/scripts/tests/test-counts';
import { expect } from 'chai';

describe('the counts of a run of tests', () => {
  let folder: string;
  let exitCode: number;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'counts-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs one test file the way the launcher does, to its end, and reads its counts. `forRun` is a module with what the whole run needs. */
  async function countsOf(test: string, forRun = ''): Promise<TestCounts> {
    const file = join(folder, 'one.test.mjs');
    writeFileSync(file, test);
    const required = join(folder, 'for-run.mjs');
    writeFileSync(required, forRun);
    const counts = announceRun(folder, 'run-1');
    const reporter = ['--reporter', 'scripts/dist/tests/counting-reporter.js', '--reporter-option', `counts=${counts}`];
    const args = ['scripts/dist/tests/run-mocha.js', '--no-config', ...reporter, '--require', required, file];
    const code = await promisify(execFile)(process.execPath, args, { cwd: ROOT }).then(
      () => 0,
      (error: { code: number }) => error.code,
    );
    exitCode = countExit(counts, code);
    return JSON.parse(readFileSync(counts, 'utf8')) as TestCounts;
  }

  async function exitCodeOf(test: string): Promise<number> {
    await countsOf(test);
    return exitCode;
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
    expect(await exitCodeOf("it('ends', () => process.exit(0));")).to.equal(1);
    expect(await exitCodeOf("it('holds', () => {});")).to.equal(0);
  });

  it('have a failure for what tests left behind, and for what could not be stopped after them', async () => {
    const left = await countsOf(`
      import { createServer } from 'node:net';
      it('holds', () => new Promise((resolve) => createServer().listen(0, '127.0.0.1', resolve)));`);
    expect(left).to.deep.include({ passed: 1, failed: 1, failures: ['the tests left behind: TCPServerWrap'] });
    const stays = "export const mochaGlobalTeardown = () => Promise.reject(new Error('it stays'));";
    const unstopped = await countsOf("it('holds', () => {});", stays);
    const failure = 'no test failed, and the run ended with exit code 1';
    expect(unstopped).to.deep.include({ passed: 1, failed: 1, failures: [failure] });
  });

  it('have none for what is stopped after the last test, however long that takes', async () => {
    const counts = await countsOf(
      "it('holds', () => {});",
      `import { createServer } from 'node:net';
      import { setTimeout } from 'node:timers/promises';
      const server = createServer();
      export const mochaGlobalSetup = () => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      export const mochaGlobalTeardown = () => setTimeout(4_000).then(() => server.close());`,
    );
    expect(counts).to.deep.include({ passed: 1, failed: 0, failures: [] });
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
