import { readFile, rename, writeFile } from 'node:fs/promises';
import { readConfig } from './config.js';
import { writeTrace } from './gate/write-trace.js';
import { makeStderrLogger } from './logger.js';
import { type Simulator, startSimulator } from './start-simulator.js';

const { logLevel, trace, stateFile, ...options } = readConfig();
const state = stateFile ? await readIfThere(stateFile) : undefined;
const simulator = await startSimulator({
  ...options,
  logger: makeStderrLogger(logLevel),
  ...(trace && { trace: writeTrace }),
  ...(state && { state }),
});
const { socketUrl, adminUrl, rootPublicKeyHex } = simulator;
process.stdout.write(`${JSON.stringify({ ready: true, socketUrl, adminUrl, rootPublicKeyHex })}\n`);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void stop(simulator));
}
// Whoever forked us is gone, even when it was killed: the launcher's tests hold this.
process.once('disconnect', () => void stop(simulator));
process.channel?.unref();

async function stop(running: Simulator): Promise<void> {
  running.restartSockets();
  if (stateFile) await replaceFile(stateFile, await running.saveState());
  await running.close();
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** In one step: whoever is killed in the middle finds the old state. */
async function replaceFile(path: string, bytes: Buffer): Promise<void> {
  await writeFile(`${path}.new`, bytes);
  await rename(`${path}.new`, path);
}
