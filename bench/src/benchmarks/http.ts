import { RATE_LIMITS } from '@gateway/contracts/limits';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import { Pool } from 'undici';
import { Child } from '../baselines/child.js';
import type { ExpressMethods } from '../baselines/express-main.js';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { readCpuMs } from '../support/process-usage.js';
import { openStage, type Stage } from '../support/stage.js';
import { median, medianRatio, rounded } from '../support/statistics.js';

const ACCOUNT = '999100000001';
const CALLERS = 32;
const MEASURE_MS = 2_000;
const TOKENS = 8_000;
const TOKENS_AT_A_TIME = 500;

/** What token, limiter, validation and request id cost on top of an HTTP server. */
export const httpBenchmark: Benchmark = {
  name: 'http',
  summary: 'GET /status requests/s, all checks and the limiter on / a bare express route with one Redis read',
  goals: [{ figure: 'ratio', atLeast: 0.55 }],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0 });
    await stage.gateway.link(ACCOUNT);
    const bare = new Child<ExpressMethods>(context.lifecycle, 'express-main');
    const key = `${stage.space.prefix}:bench:status`;
    await stage.space.clients.commands.set(key, 'connected');
    const barePort = await bare.call('listen', { redisUrl: stage.space.url, key });
    const tokens = (await makeTokens(stage)).values();
    const nextToken = () => {
      const { value } = tokens.next();
      if (!value) throw new Error('there are not enough tokens for so many requests');
      return `Bearer ${value}`;
    };
    const cpu = { ours: [] as number[], baseline: [] as number[] };
    const measure = async (side: keyof typeof cpu, pid: number, count: () => Promise<number>) => {
      const cpuBefore = readCpuMs(pid);
      const perSecond = await count();
      cpu[side].push((readCpuMs(pid) - cpuBefore) / (perSecond * (MEASURE_MS / 1000)));
      return perSecond;
    };
    const { api } = stage.gateway;
    const status = () => countAnswers(apiPort(stage), '/api/messenger/v1/status', nextToken);
    const ours = () => measure('ours', api.pid, status);
    const baseline = () => measure('baseline', bare.pid, () => countAnswers(barePort, '/status'));
    await ours();
    await baseline();
    // The first round compiles what both sides run.
    for (const side of Object.values(cpu)) side.length = 0;
    const unit = 'requests/s';
    const found = await compare(context, { ours, baseline, unit, rounds: 7 });
    const cpuMsPerRequest = { ours: rounded(median(cpu.ours)), baseline: rounded(median(cpu.baseline)) };
    return { ...found, unit, cpuMsPerRequest, cpuRatio: medianRatio(cpu.baseline, cpu.ours) };
  },
};

/** Straight into the store: the command line would need minutes for so many. */
async function makeTokens({ space }: Stage): Promise<string[]> {
  const tokens: string[] = [];
  const make = async () => (await createApiToken(space.store, 'main', { name: 'bench', device: 'default' })).value;
  while (tokens.length < TOKENS) tokens.push(...(await Promise.all(Array.from({ length: TOKENS_AT_A_TIME }, make))));
  return tokens;
}

function apiPort({ gateway }: Stage): number {
  return Number(gateway.logs().find(({ message }) => message === 'api listens')!.port);
}

/** Answers with 200 per second for a number of callers without pauses. Tokens are used one after the other. */
async function countAnswers(port: number, path: string, nextToken?: () => string): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CALLERS, pipelining: 1 });
  const startedMs = performance.now();
  let answers = 0;
  const askOn = async () => {
    let uses = 0;
    let authorization = nextToken?.() ?? '';
    while (performance.now() - startedMs < MEASURE_MS) {
      if (nextToken && uses++ === RATE_LIMITS.status) [uses, authorization] = [1, nextToken()];
      const { statusCode, body } = await pool.request({ path, method: 'GET', headers: { authorization } });
      await body.dump();
      if (statusCode === 200) answers++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, askOn));
  const seconds = (performance.now() - startedMs) / 1000;
  await pool.close();
  return answers / seconds;
}
