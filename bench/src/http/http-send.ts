import { RATE_LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, sessionKeyPrefix } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { Child } from '../baselines/child.js';
import type { ExpressSendMethods } from '../baselines/express-send-main.js';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { cpuMsOf, redisPid } from '../support/process-usage.js';
import { openStage, type Stage } from '../support/stage.js';
import { median, medianRatio, rounded } from '../support/statistics.js';
import { apiPort, countAnswers, MEASURE_MS, makeTokens } from './count-answers.js';

const ACCOUNT = '999100000001';
const DEVICE = { workspace: 'main', device: 'default' };
const TOKENS = 4_000;
const BODY = { to: '447700900123', text: 'Hello from a benchmark' };

/** What it costs to accept a message: nothing sends it meanwhile, on either side. */
export const httpSendBenchmark: Benchmark = {
  name: 'http-send',
  summary: 'CPU per POST /send of one recipient, express + Joi + one BullMQ job / ours; each with its Redis',
  goals: [{ figure: 'ratio', atLeast: 0.5 }],
  async run(context) {
    const { lifecycle } = context;
    const stage = await openStage(context, { decryptSample: 0, env: { SESSION_TTL_MS: '60000' } });
    await stage.gateway.link(ACCOUNT);
    const redis = await RedisProcess.start();
    lifecycle.add('redis of the baseline', () => redis.stop());
    const bare = new Child<ExpressSendMethods>(lifecycle, 'express-send-main');
    const barePort = await bare.call('listen', { redisUrl: redis.url });
    const redisOf = { ours: await redisPid(stage.space.url), baseline: await redisPid(redis.url) };
    const serviceOf = { ours: stage.gateway.api.pid, baseline: bare.pid };
    const cpu = { ours: [] as number[], baseline: [] as number[] };
    const ofService = { ours: [] as number[], baseline: [] as number[] };
    const rates = { ours: [] as number[], baseline: [] as number[] };
    const measure = async (side: keyof typeof cpu, count: () => Promise<number>) => {
      const read = () => [serviceOf[side], redisOf[side]].map((pid) => cpuMsOf([pid])) as [number, number];
      const before = read();
      const perSecond = await count();
      const after = read();
      const answers = perSecond * (MEASURE_MS / 1000);
      const [service, store] = [after[0] - before[0], after[1] - before[1]];
      ofService[side].push(service / answers);
      cpu[side].push((service + store) / answers);
      rates[side].push(perSecond);
      return (service + store) / answers;
    };
    const asked = { method: 'POST', body: BODY, status: 202 } as const;
    const tokens = { next: await makeTokens(stage, TOKENS), uses: RATE_LIMITS.send };
    const path = '/api/messenger/v1/send';
    const ours = () => measure('ours', () => countAnswers({ ...asked, port: apiPort(stage), path, tokens }));
    const baseline = () => measure('baseline', () => countAnswers({ ...asked, port: barePort, path: '/send' }));
    // It stays the owner of the device, and works on nothing of its queue.
    const [sender] = stage.gateway.senders;
    sender!.signal('SIGSTOP');
    await ours();
    await baseline();
    // The first round compiles what both sides run.
    for (const side of [cpu, ofService, rates].flatMap((all) => Object.values(all))) side.length = 0;
    const unit = 'ms of CPU per request';
    const found = await compare(context, { ours, baseline, unit, rounds: 7 });
    if (!(await hasOwner(stage))) throw new Error('the device has lost its owner: there was no one to wake');
    return {
      ...found,
      ...{ unit, ratio: medianRatio(cpu.baseline, cpu.ours) },
      ...{ serviceRatio: medianRatio(ofService.baseline, ofService.ours) },
      perSecond: { ours: rounded(median(rates.ours)), baseline: rounded(median(rates.baseline)) },
    };
  },
};

async function hasOwner({ space: { store } }: Stage): Promise<boolean> {
  const owner = await store.redis.get(deviceKeys(store.space, DEVICE).owner);
  const session = sessionKeyPrefix(store.space, shardOf(DEVICE)) + owner?.split(':')[0];
  return (await store.redis.exists(session)) === 1;
}
