import { parseArgs } from 'node:util';
import { isToldRight } from './events/audience.js';
import { REDIS_KINDS } from './redis/start-redis.js';
import { runChaos } from './run-chaos.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    devices: { type: 'string', default: '3' },
    recipients: { type: 'string' },
    redis: { type: 'string', default: 'single' },
    'wait-replicas': { type: 'string', default: '0' },
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

const result = await runChaos({
  rounds: Number(values.rounds),
  seed: Number(values.seed),
  devices,
  recipients,
  redis,
  waitReplicas: Number(values['wait-replicas']),
  say: (line) => console.log(line),
});
const { shown, failed, expired, lost, duplicates, miscounted, kills, keepsPromises, events } = result;
const isWhole = shown + failed + expired === result.recipients;
const isKept = isWhole && lost + duplicates + miscounted === 0 && isToldRight(events);
const passed = (isKept || !keepsPromises) && kills > 0 && events.told > 0 && shown >= result.recipients * 0.95;
if (!values.json) console.log(verdict());
console.log(JSON.stringify(result));
process.exit(passed ? 0 : 1);

function verdict(): string {
  if (!passed) return `FAILED; repeat it with --seed ${result.seed}`;
  if (isKept) return 'Nothing lost, nothing shown twice; each change counted, told once, and in order.';
  return `${lost} lost, ${duplicates} shown twice; of events ${events.lost} lost: no replica was asked to confirm (docs/durability.md).`;
}
