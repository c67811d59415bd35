import { readConfig } from './config.js';
import { writeTrace } from './gate/write-trace.js';
import { makeStderrLogger } from './logger.js';
import { startSimulator } from './start-simulator.js';

const { logLevel, trace, stateFile, ...options } = readConfig();
const simulator = await startSimulator({
  ...options,
  logger: makeStderrLogger(logLevel),
  ...(trace && { trace: writeTrace }),
  ...(stateFile && { stateFile }),
}).catch(explain);
const { socketUrl, adminUrl, rootPublicKeyHex } = simulator;
process.stdout.write(`${JSON.stringify({ ready: true, socketUrl, adminUrl, rootPublicKeyHex })}\n`);

/** A port that is taken needs no stack. */
function explain(error: NodeJS.ErrnoException): never {
  if (!error.syscall) throw error;
  process.stderr.write(`The simulator did not start: ${error.message}\n`);
  process.exit(1);
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void simulator.close());
}
// The process that forked us is gone, even when it was killed: the launcher's tests hold this.
process.once('disconnect', () => void simulator.close());
process.channel?.unref();
