import { parseArgs } from 'node:util';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { refuseTakenPorts } from '../gateway/refuse-taken-ports.js';
import { simulatorEnvironment, startSimulator } from '../gateway/start-simulator.js';

/** Each is the setting of the simulator's `config.ts` with this name. */
const FLAGS = {
  profile: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  tls: { type: 'boolean' },
  seed: { type: 'string' },
  'latency-ms': { type: 'string' },
  'decrypt-sample': { type: 'string' },
  'state-file': { type: 'string' },
  trace: { type: 'boolean' },
} as const;

/** `npm run simulator -- --port 9000`: the stand-in network alone, for gateways and clients that run elsewhere. */
export async function runSimulator(args: string[], lifecycle: Lifecycle): Promise<number> {
  const { values } = parseArgs({ args, options: FLAGS });
  const host = values.host ?? '127.0.0.1';
  if (values.port)
    await refuseTakenPorts([{ what: 'the simulator', host, port: Number(values.port), setting: '--port' }]);
  const simulator = await startSimulator(lifecycle, { env: toEnvironment(values), onLine: console.log });
  const { socketUrl, adminUrl, rootPublicKeyHex } = simulator;
  // For programs, as the simulator says it itself.
  console.log(JSON.stringify({ ready: true, socketUrl, adminUrl, rootPublicKeyHex }));
  const settings = Object.entries(simulatorEnvironment(simulator)).map(([name, value]) => `  ${name}=${value}`);
  console.log(
    ['', 'The simulator is running. Ctrl-C stops it. A gateway takes it for the network with', ...settings, ''].join(
      '\n',
    ),
  );
  return simulator.ended;
}

/** `latency-ms` is `SIMULATOR_LATENCY_MS`. */
function toEnvironment(values: Record<string, string | boolean | undefined>): Record<string, string> {
  const entries = Object.entries(values).map(([flag, value]) => {
    return [`SIMULATOR_${flag.toUpperCase().replaceAll('-', '_')}`, String(value)];
  });
  return Object.fromEntries(entries);
}
