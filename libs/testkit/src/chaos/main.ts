import { parseArgs } from 'node:util';
import { waitReplicas } from '../config.js';
import { REDIS_KINDS } from './redis/start-redis.js';
import { judge, runChaos } from './run-chaos.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    devices: { type: 'string', default: '3' },
    recipients: { type: 'string' },
    redis: { type: 'string', default: 'single' },
    'wait-replicas': { type: 'string', default: waitReplicas() },
    json: { type: 'boolean', default: false },
  },
});

const devices = Number(values.devices);
/** Per list; a thousand devices send as much together as a few with lists of the usual length. */
const recipients = Number(values.recipients ?? Math.max(20, Math.min(2_000, Math.floor(20_000 / devices))));

const redis = REDIS_KINDS.find((kind) => kind === values.redis);
if (!redis) {
  console.error(`--redis must be one of ${REDIS_KINDS.join(', ')}`);
  process.exit(2);
}

const begin = performance.now();
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
// The launcher is gone, even when that was killed.
process.once('disconnect', () => stop.abort());

const result = await runChaos({
  rounds: Number(values.rounds),
  seed: Number(values.seed),
  devices,
  recipients,
  redis,
  waitReplicas: Number(values['wait-replicas']),
  say: (line) => console.log(`${Math.round((performance.now() - begin) / 1_000)} s: ${line}`),
  signal: stop.signal,
}).catch(() => end(`FAILED; repeat it with --seed ${values.seed}`, 1));
const { passed, verdict } = judge(result);
if (!values.json) console.log(verdict);
await end(JSON.stringify(result), passed ? 0 : 1);

/** Its reader may be slow: the last line is the one that counts. */
function end(line: string, exitCode: number): Promise<never> {
  return new Promise(() => process.stdout.write(`${line}\n`, () => process.exit(exitCode)));
}
