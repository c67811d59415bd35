import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../paths.js';

/** What a run of tests leaves behind, as JSON: for `.ci/run`, and for the next run, which is balanced by it. */
export interface TestCounts {
  passed: number;
  failed: number;
  skipped: number;
  /** A line for each failed test: the titles that lead to it, and the first line of its error. */
  failures: string[];
  /** Seconds that each test file took, by its path from the root. */
  seconds: Record<string, number>;
}

/** As measured on a machine with two cores; only for balance, so that it may be out of date. */
const KNOWN_SECONDS = `${ROOT}scripts/test-seconds.json`;
/** As measured here by the last whole run. */
const MEASURED_SECONDS = `${ROOT}build/test-seconds.json`;

/** Written before a run begins; the run itself overwrites it on its way and when it ends. */
export function announceRun(folder: string, name: string): string {
  const file = join(folder, `${name}.json`);
  writeCounts(file, countsIfItDies([], `${name} died before its first test`));
  return file;
}

/** A run that was started and has not come to its end is a failure, besides those that it had until then. */
export function countsIfItDies(failures: readonly string[], death: string): TestCounts {
  return { passed: 0, failed: failures.length + 1, skipped: 0, failures: [...failures, death], seconds: {} };
}

export function writeCounts(file: string, counts: TestCounts): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(counts));
}

function readCounts(file: string): TestCounts {
  return JSON.parse(readFileSync(file, 'utf8')) as TestCounts;
}

/** Counts as one test more that failed. */
export function addFailure(file: string, failure: string): void {
  const counts = readCounts(file);
  writeCounts(file, { ...counts, failed: counts.failed + 1, failures: [...counts.failures, failure] });
}

/**
 * Whether a run has failed, as its exit code. It may fail after the last of its tests, as when what was started for all of them cannot
 * be stopped; and one that ends before its tests do has failed, whatever it says.
 */
export function countExit(file: string, exitCode: number): number {
  const { failed } = readCounts(file);
  if (exitCode !== 0 && failed === 0) addFailure(file, `no test failed, and the run ended with exit code ${exitCode}`);
  return exitCode || Math.min(1, failed);
}

/** Remembers how long each file took, for the next time. */
export function rememberSeconds(countFiles: readonly string[]): void {
  const measured = countFiles.map((file) => readCounts(file).seconds);
  writeFileSync(MEASURED_SECONDS, `${JSON.stringify(Object.assign(readSeconds(), ...measured), undefined, 2)}\n`);
}

export function readSeconds(): Record<string, number> {
  return JSON.parse(readFileSync(existsSync(MEASURED_SECONDS) ? MEASURED_SECONDS : KNOWN_SECONDS, 'utf8'));
}
