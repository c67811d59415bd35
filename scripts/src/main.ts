import { GatewayError, toError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { addNpmFlags } from './add-npm-flags.js';
import { runBench } from './commands/run-bench.js';
import { runChaos } from './commands/run-chaos.js';
import { runCli } from './commands/run-cli.js';
import { runDemo } from './commands/run-demo.js';
import { runModel } from './commands/run-model.js';
import { runMutate } from './commands/run-mutate.js';
import { runSimulator } from './commands/run-simulator.js';
import { runStart } from './commands/run-start.js';
import { runBrowserTests, runClusterTests, runLongTests, runTest } from './commands/run-test.js';
import { launcherConfig } from './config.js';

/** Runs the command and returns its exit code. What it starts is added to the lifecycle. */
export type Command = (args: string[], lifecycle: Lifecycle) => Promise<number>;

const COMMANDS: Record<string, Command> = {
  demo: runDemo,
  test: runTest,
  'test-long': runLongTests,
  'test-browser': runBrowserTests,
  'test-cluster': runClusterTests,
  start: runStart,
  cli: runCli,
  simulator: runSimulator,
  bench: runBench,
  chaos: runChaos,
  model: runModel,
  mutate: runMutate,
};

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const PARENT_CHECK_MS = 500;

/** Runs one command to its end and exits. However it ends, nothing that it started lives on. */
export async function main(name: string, args: string[]): Promise<void> {
  const lifecycle = new Lifecycle({
    logger: createLogger({ service: 'launcher', level: 'warn', pretty: true }),
    partTimeoutMs: 15_000,
  });
  const end = async (exitCode: number) => {
    await lifecycle.stop();
    process.exit(exitCode);
  };
  for (const [signal, exitCode] of Object.entries(SIGNALS)) process.on(signal, () => end(exitCode));
  if (launcherConfig.startedByNpm) watchParent(() => end(SIGNALS.SIGHUP));
  try {
    await end(await COMMANDS[name]!(addNpmFlags(name, args, launcherConfig.environment), lifecycle));
  } catch (thrown) {
    if (!lifecycle.stopping.aborted) explain(toError(thrown));
    await end(1);
  }
}

/** npm passes signals on, unless it is killed itself: then we are adopted by another process. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS).unref();
}

/** Only a surprise needs its stack. */
function explain(error: Error & { code?: string }): void {
  const isForeseen = error instanceof GatewayError || error.code?.startsWith('ERR_PARSE_ARGS');
  console.error(isForeseen ? `\n${error.message}` : error);
}
