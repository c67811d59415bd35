import { openSync, writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { LIMITS } from '@gateway/contracts/limits';
import { GatewayError, toError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { apiClient } from '../demo/api-client.js';
import { type DemoResult, findFault } from '../demo/demo-result.js';
import { demoTable } from '../demo/demo-table.js';
import { phoneClient } from '../demo/phone-client.js';
import { createProgress, type Progress } from '../demo/progress.js';
import { runScenario } from '../demo/run-scenario.js';
import { createSignInLink } from '../gateway/create-sign-in-link.js';
import { createToken, type NewToken } from '../gateway/create-token.js';
import { makeEncryptionKeys } from '../gateway/encryption-keys.js';
import { findFreePort } from '../gateway/find-free-port.js';
import { A_PROCESS_EACH, CONSOLE, startGateway } from '../gateway/start-gateway.js';
import { simulatorEnvironment, startSimulator } from '../gateway/start-simulator.js';
import { openDemoRedis } from '../redis/open-demo-redis.js';
import { makeTemporaryFolder } from '../temporary-folder.js';

interface DemoOptions {
  recipients: number;
  json: boolean;
  keep: boolean;
}

/**
 * `npm run demo [-- --recipients N] [--json] [--keep]`: everything a gateway does, against the stand-in network, on data that is
 * thrown away afterwards. With `--keep` it stays with its accounts linked, and the console shows it, until Ctrl-C. Exit code 0
 * only if no message was lost, duplicated or left unread.
 */
export async function runDemo(args: string[], lifecycle: Lifecycle): Promise<number> {
  const options = readOptions(args);
  const progress = createProgress(options.json ? process.stderr : process.stdout);
  const logs = makeTemporaryFolder(lifecycle, 'demo');
  let fault: string | undefined;
  try {
    const { result, ended, link } = await playDemo(options, { lifecycle, progress, logs: logs.path });
    progress.print(`\n${demoTable(result)}\n`);
    fault = findFault(result);
    if (options.json) console.log(JSON.stringify(result));
    if (link !== undefined && !fault) {
      progress.print(`Look at it in the console, which this signs in to once within ten minutes:\n\n  ${link}\n`);
      progress.print('Ctrl-C ends the demo, and deletes its data.');
      await ended;
    }
  } catch (thrown) {
    progress.fail();
    fault = toError(thrown).message;
  }
  if (!fault || lifecycle.stopping.aborted) return 0;
  logs.keep();
  console.error(`\nThe demo failed: ${fault}\nThe logs of all processes are in ${logs.path}\n`);
  return 1;
}

interface DemoStage {
  lifecycle: Lifecycle;
  progress: Progress;
  /** The folder for the log of each process. */
  logs: string;
}

interface Played {
  result: DemoResult;
  /** Rejects when one of its processes ends by itself. */
  ended: Promise<never>;
  /** To the console, if there is one. */
  link: string | undefined;
}

async function playDemo({ recipients, keep }: DemoOptions, { lifecycle, progress, logs }: DemoStage): Promise<Played> {
  progress.step('Start Redis, the simulator, api, connection, sender and events');
  const logOf = (name: string) => openSync(`${logs}/${name}.log`, 'a', 0o600);
  const redis = await openDemoRedis(lifecycle, { logFile: `${logs}/redis.log` });
  const simulatorLog = logOf('simulator');
  const simulator = await startSimulator(lifecycle, { onLine: (line) => writeSync(simulatorLog, `${line}\n`) });
  const env = {
    ...redis,
    CREDENTIAL_KEYS: makeEncryptionKeys(),
    CONTENT_KEYS: makeEncryptionKeys(),
    LOG_FORMAT: 'json',
    ...simulatorEnvironment(simulator),
  };
  const [apiPort, dashboardPort] = [await findFreePort(), await findFreePort()];
  const gatewayEnv = { ...env, DASHBOARD_PORT: String(dashboardPort) };
  const gateway = await startGateway(lifecycle, {
    ...{
      env: gatewayEnv,
      apiHost: '127.0.0.1',
      apiPort,
      processes: keep ? [...A_PROCESS_EACH, CONSOLE] : A_PROCESS_EACH,
    },
    output: ({ name }) => logOf(name),
  });
  progress.done(gateway.baseUrl);

  progress.step('Create three API tokens');
  const login = async (token: NewToken) => apiClient(gateway.baseUrl, await createToken(lifecycle, token, env));
  const [qrDevice, codeDevice, listener] = await Promise.all([
    login({ name: 'qr-demo', device: 'qr-demo' }),
    login({ name: 'code-demo', device: 'code-demo' }),
    login({ name: 'events', scopes: 'events' }),
  ]);
  progress.done();

  const phones = phoneClient(simulator.adminUrl);
  const ended = Promise.race([gateway.ended, simulator.ended]);
  const scenario = runScenario({ qrDevice, codeDevice, listener, phones, progress, recipients, staysLinked: keep });
  const result = await Promise.race([scenario, ended]);
  return { result, ended, link: keep ? await createSignInLink(lifecycle, gatewayEnv) : undefined };
}

function readOptions(args: string[]): DemoOptions {
  const { values } = parseArgs({
    args,
    options: {
      recipients: { type: 'string', default: '50' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const recipients = Number(values.recipients);
  if (!Number.isInteger(recipients) || recipients < 1 || recipients > LIMITS.maxRecipients) {
    const message = `--recipients takes a number from 1 to ${LIMITS.maxRecipients}`;
    throw new GatewayError({ code: 'usage', message });
  }
  return { recipients, json: values.json, keep: values.keep };
}
