import { RATE_LIMITS } from '@gateway/contracts/limits';
import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { Child } from '../baselines/child.js';
import type { ExpressMethods } from '../baselines/express-main.js';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { openStage } from '../support/stage.js';
import { median, medianRatio, rounded } from '../support/statistics.js';
import { apiPort, countAnswers, MEASURE_MS, makeTokens } from './count-answers.js';

const ACCOUNT = '999100000001';
const TOKENS = 16_000;

/** What token, limiter, validation and request id cost on top of an HTTP server. */
export const httpBenchmark: Benchmark = {
  name: 'http',
  summary: 'GET /status requests/s, all checks and the limiter on / a bare express route with one Redis read',
  goals: [{ figure: 'ratio', atLeast: 0.65 }],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0 });
    await stage.gateway.link(ACCOUNT);
    const bare = new Child<ExpressMethods>(context.lifecycle, 'express-main');
    const key = `${stage.space.prefix}:bench:status`;
    await stage.space.clients.commands.set(key, 'connected');
    const barePort = await bare.call('listen', { redisUrl: stage.space.url, key });
    const tokens = { next: await makeTokens(stage, TOKENS), uses: RATE_LIMITS.status };
    const cpu = { ours: [] as number[], baseline: [] as number[] };
    const measure = async (side: keyof typeof cpu, pid: number, count: () => Promise<number>) => {
      const cpuBefore = readCpuMs(pid);
      const perSecond = await count();
      cpu[side].push((readCpuMs(pid) - cpuBefore) / (perSecond * (MEASURE_MS / 1000)));
      return perSecond;
    };
    const { api } = stage.gateway;
    const asked = { method: 'GET', status: 200 } as const;
    const status = () => countAnswers({ ...asked, port: apiPort(stage), path: '/api/messenger/v1/status', tokens });
    const ours = () => measure('ours', api.pid, status);
    const baseline = () =>
      measure('baseline', bare.pid, () => countAnswers({ ...asked, port: barePort, path: '/status' }));
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
