import { parseArgs } from 'node:util';
import { runChaos } from './run-chaos.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    devices: { type: 'string', default: '3' },
    recipients: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const devices = Number(values.devices);
/** Per list; a thousand devices send as much together as a few with lists of the usual length. */
const recipients = Number(values.recipients ?? Math.max(20, Math.min(2_000, Math.floor(20_000 / devices))));

const result = await runChaos({
  rounds: Number(values.rounds),
  seed: Number(values.seed),
  devices,
  recipients,
  say: (line) => console.log(line),
});
const { shown, failed, expired, lost, duplicates, kills } = result;
const isWhole = shown + failed + expired === result.recipients;
const passed = isWhole && lost === 0 && duplicates === 0 && kills > 0 && shown >= result.recipients * 0.95;
if (!values.json)
  console.log(passed ? 'Nothing lost, nothing doubled.' : `FAILED; repeat it with --seed ${result.seed}`);
console.log(JSON.stringify(result));
process.exit(passed ? 0 : 1);
