import { readConfig } from './config.js';
import { writeTrace } from './gate/write-trace.js';
import { makeStderrLogger } from './logger.js';
import { startSimulator } from './start-simulator.js';

const { logLevel, trace, ...options } = readConfig();
const simulator = await startSimulator({
  ...options,
  logger: makeStderrLogger(logLevel),
  ...(trace && { trace: writeTrace }),
});
const { socketUrl, adminUrl, rootPublicKeyHex } = simulator;
process.stdout.write(`${JSON.stringify({ ready: true, socketUrl, adminUrl, rootPublicKeyHex })}\n`);

const stop = () => void simulator.close();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
// Whoever forked us is gone, even when it was killed.
process.once('disconnect', stop);
process.channel?.unref();
