import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '@gateway/runtime/errors';
import { launcherConfig } from '../config.js';
import { ROOT } from '../paths.js';
import { findLuaFiles } from './find-lua-files.js';

/** One change to one Lua file that takes a guarantee away. */
interface Mutation {
  /** Anywhere in `libs/store/src`, without `.lua`. */
  file: string;
  /** Stands there exactly once. */
  from: string;
  to: string;
}

/** Mutations that the same tests must notice. */
interface Group {
  /** Test files from the root of the repository. */
  tests: string[];
  mutations: Mutation[];
}

export interface LuaScore {
  killed: number;
  survived: Mutation[];
}

const LIST = join(ROOT, 'scripts/mutation/lua.json');
/** A mutation that hangs is noticed, too. */
const LIMIT_MS = 120_000;

/** Makes one change after the other in the sandbox and runs the tests named for it: they should fail. */
export async function mutateLua(
  sandbox: string,
  options: { redisUrl: string; only: readonly string[]; signal: AbortSignal; say: (line: string) => void },
): Promise<LuaScore> {
  const groups = readGroups(options.only);
  const score: LuaScore = { killed: 0, survived: [] };
  for (const { tests, mutations } of groups.filter((group) => group.mutations.length > 0)) {
    if (!(await pass(sandbox, tests, options))) {
      throw new GatewayError({ code: 'tests_fail', message: `Tests fail without any change: ${tests.join(', ')}` });
    }
    for (const mutation of mutations) {
      const restore = apply(sandbox, mutation);
      if (!restore) {
        score.survived.push(mutation);
        options.say(`STALE     ${mutation.file} does not have this once: ${mutation.from}`);
        continue;
      }
      const survives = await pass(sandbox, tests, options);
      restore();
      if (survives) score.survived.push(mutation);
      else score.killed += 1;
      options.say(`${survives ? 'SURVIVED' : 'killed  '}  ${mutation.file}: ${mutation.from} -> ${mutation.to}`);
    }
  }
  return score;
}

/** The mutations of these files; of all, if none is named. */
function readGroups(only: readonly string[]): Group[] {
  const all = JSON.parse(readFileSync(LIST, 'utf8')) as Group[];
  const listed = new Set(all.flatMap(({ mutations }) => mutations.map(({ file }) => file)));
  const unlisted = only.filter((file) => !listed.has(file));
  if (unlisted.length > 0) {
    throw new GatewayError({ code: 'usage', message: `there are no mutations of ${unlisted.join(', ')} in ${LIST}` });
  }
  return all.map(({ tests, mutations }) => ({
    tests: tests.map((test) => `build/tests/${test.replace(/\.ts$/, '.js')}`),
    mutations: mutations.filter(({ file }) => only.length === 0 || only.includes(file)),
  }));
}

/** Returns what takes it back; `undefined` when the file has changed since the mutation was written down. */
function apply(sandbox: string, { file, from, to }: Mutation): (() => void) | undefined {
  const path = findLuaFiles(sandbox).get(file);
  if (path === undefined) return undefined;
  const before = readFileSync(path, 'utf8');
  if (before.split(from).length !== 2) return undefined;
  writeFileSync(
    path,
    before.replace(from, () => to),
  );
  return () => writeFileSync(path, before);
}

function pass(
  sandbox: string,
  tests: readonly string[],
  { redisUrl, signal }: { redisUrl: string; signal: AbortSignal },
): Promise<boolean> {
  const mocha = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const args = [mocha, '--no-config', '--bail', '--exit', '--timeout', '20000', ...tests];
  const env = { ...launcherConfig.environment, REDIS_URL: redisUrl };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: sandbox, env, signal, timeout: LIMIT_MS, maxBuffer: 2 ** 26 }, (error) => {
      if (error?.name === 'AbortError') reject(error);
      else resolve(error === null);
    });
  });
}
