import { readConfig } from './config.js';
import { makeStderrLogger } from './logger.js';
import { startSimulator } from './start-simulator.js';

const { logLevel, ...options } = readConfig();
const simulator = await startSimulator({ ...options, logger: makeStderrLogger(logLevel) });
const { socketUrl, adminUrl, rootPublicKeyHex } = simulator;
process.stdout.write(`${JSON.stringify({ ready: true, socketUrl, adminUrl, rootPublicKeyHex })}\n`);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void simulator.close());
}
