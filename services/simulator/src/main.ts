import { readConfig } from './config.js';
import { makeStderrLogger } from './logger.js';
import { startSimulator } from './start-simulator.js';

const { logLevel, ...options } = readConfig();
const simulator = await startSimulator({ ...options, logger: makeStderrLogger(logLevel) });
const { socketUrl, adminUrl, rootPublicKeyHex } = simulator;
process.stdout.write(`${JSON.stringify({ ready: true, socketUrl, adminUrl, rootPublicKeyHex })}\n`);

const stop = () => void simulator.close();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
// Whoever forked us is gone, even when it was killed.
process.once('disconnect', stop);
process.channel?.unref();
