import { parseArgs } from 'node:util';
import { waitReplicas } from '../config.js';
import { REDIS_KINDS } from './redis/start-redis.js';
import { isKept, runChaos } from './run-chaos.js';

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
const { shown, failed, expired, cancelled, unwilling, lost, duplicates, unwanted } = result;
const { eventsKills, spared, keepsPromises, events } = result;
const isWhole = shown + failed + expired + cancelled === result.recipients;
const keeps = isWhole && isKept(result);
const isHurt = eventsKills > 0 && events.consumerKills > 0 && events.repeats > 0 && spared.length === 0;
const isOut = events.told > 0 && shown >= (result.recipients - cancelled - unwilling) * 0.95;
const isProof = isHurt && isOut && cancelled > 0 && unwilling > 0;
const passed = (keeps || !keepsPromises) && isProof;
if (!values.json) console.log(verdict());
await end(JSON.stringify(result), passed ? 0 : 1);

function verdict(): string {
  if (spared.length > 0) return `FAILED: Redis was spared ${spared.join(', ')}; repeat it with --seed ${result.seed}`;
  if (!passed) return `FAILED; repeat it with --seed ${result.seed}`;
  if (keeps)
    return 'Nothing lost, nothing shown twice or to those who do not want it; each change counted, told once, and in order.';
  return `${lost} lost, ${duplicates} shown twice, ${unwanted} not wanted; of events ${events.lost} lost: no replica was asked to confirm (docs/durability.md).`;
}

/** Its reader may be slow: the last line is the one that counts. */
function end(line: string, exitCode: number): Promise<never> {
  return new Promise(() => process.stdout.write(`${line}\n`, () => process.exit(exitCode)));
}
