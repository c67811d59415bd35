import { parseArgs } from 'node:util';
import { runChaos } from './run-chaos.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    devices: { type: 'string', default: '3' },
    recipients: { type: 'string', default: '2000' },
    json: { type: 'boolean', default: false },
  },
});

const result = await runChaos({
  rounds: Number(values.rounds),
  seed: Number(values.seed),
  devices: Number(values.devices),
  recipients: Number(values.recipients),
  say: (line) => console.log(line),
});
const { recipients, shown, lost, duplicates, kills } = result;
const passed = lost === 0 && duplicates === 0 && kills > 0 && shown >= recipients * 0.95;
if (!values.json)
  console.log(passed ? 'Nothing lost, nothing doubled.' : `FAILED; repeat it with --seed ${result.seed}`);
console.log(JSON.stringify(result));
process.exit(passed ? 0 : 1);
