import type { Readable, Writable } from 'node:stream';
import { type AuditAction, COMMAND_LINE } from '@gateway/contracts/console/users';
import type { Workspace } from '@gateway/contracts/ids';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { webhookPolicy } from '@gateway/egress/webhook-policy';
import { type MediaSource, mediaSource } from '@gateway/media/media-source';
import { isRealNetwork } from '@gateway/runtime/config/messenger-trust';
import { createLogger, type Logger } from '@gateway/runtime/logs/logger';
import { confirmByReplicas, confirmNothing } from '@gateway/runtime/redis/confirm-writes';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { followRedisTime } from '@gateway/runtime/redis/redis-time';
import { recordAudit } from '@gateway/store/console/audit';
import { awaitSchema, createStore, type Store } from '@gateway/store/core/store';
import { createProof } from '@gateway/store/workspace/tokens/api-tokens';
import { hasWorkspace } from '@gateway/store/workspace/workspaces';
import type { Command } from 'commander';
import { readCliConfig } from './config.js';
import { createOutput, type Output } from './output.js';

export interface CliContext {
  /** Fails when Redis is away. */
  store: Store;
  /** The same; waits until Redis is back. */
  patientStore: Store;
  /** What was chosen with `--workspace`; it exists. */
  workspace: Workspace;
  output: Output;
  logger: Logger;
  /** `MESSENGER_VERSION`. */
  messengerVersion: string | undefined;
  /** Whether this gateway is set up for the real network. */
  realNetwork: boolean;
  /** Where webhooks may lead. */
  webhookPolicy: FetchPolicy;
  /** Where files lie that people sent. */
  mediaSource: MediaSource;
  /** Where browsers see the console. */
  dashboardUrl: string;
  /** What a file named `-` is. */
  stdin: Readable;
  /** For what is no text; all else goes through `output`. */
  stdout: Writable;
  /** Writes what was done into the audit log, or says that it could not: done it is. `target`: ids and names, no number of a person. */
  record(action: AuditAction, target?: string): Promise<void>;
}

const REDIS_TIMEOUT_MS = 3_000;

interface GlobalOptions {
  json?: true;
  workspace: Workspace;
}

/** What a command reads and writes. */
export interface Terminal {
  env: NodeJS.ProcessEnv;
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
}

/** Does the work of a command. */
export type RunCommand = (work: (context: CliContext) => Promise<void>) => Promise<void>;

/** In the workspace, and with the output, that the program was asked for. */
export function runner(program: Command, terminal: Terminal): RunCommand {
  return (work) => {
    const { json = false, workspace } = program.opts<GlobalOptions>();
    return withStore({ output: createOutput({ json, stream: terminal.stdout }), workspace, terminal }, work);
  };
}

/** That the workspace is the one that was there as the command began: see `createProof`. */
export async function proofOf(
  { store, workspace }: Pick<CliContext, 'store' | 'workspace'>,
  of?: { madeAtMs?: number },
): Promise<{ keyId: string }> {
  return { keyId: await createProof(store, workspace, COMMAND_LINE, of) };
}

/** Runs a command on the store of the gateway, and closes it. Throws when Redis, the keys or the workspace are not there. */
async function withStore(
  { output, workspace, terminal }: { output: Output; workspace: Workspace; terminal: Terminal },
  work: (context: CliContext) => Promise<void>,
): Promise<void> {
  const config = readCliConfig(terminal.env);
  const logger = createLogger({ service: 'cli', level: 'error', destination: terminal.stderr });
  const { REDIS_URL: url, REDIS_WAIT_REPLICAS: replicas } = config;
  const redis = createRedisClients<'commands' | 'failFast' | 'confirms'>({
    ...{ url, logger, name: 'cli' },
    purposes: ['commands', 'failFast', ...(replicas > 0 ? ['confirms' as const] : [])],
  });
  const ending = new AbortController();
  const stops = [() => ending.abort()];
  try {
    await redis.waitForReady(AbortSignal.timeout(REDIS_TIMEOUT_MS));
    stops.push(await followRedisTime(redis.failFast));
    let confirmWrites = confirmNothing;
    if (replicas > 0) {
      const confirming = confirmByReplicas(redis.confirms, replicas);
      stops.push(confirming.stop);
      confirmWrites = confirming.confirm;
    }
    const space = { prefix: config.KEY_PREFIX };
    const keyRings = { credentials: config.CREDENTIAL_KEYS ?? [], contents: config.CONTENT_KEYS };
    const store = createStore({ redis: redis.failFast, space, keyRings, confirmWrites });
    const patientStore = createStore({ redis: redis.commands, space, keyRings, confirmWrites });
    // A node of a Cluster that has nothing to do with the command may be away.
    const fail = (error: Error) => logger.error('the data is of another version', { error });
    await awaitSchema(store, { logger, stopping: ending.signal, fail });
    if (!(await hasWorkspace(store, workspace)))
      throw new Error(`there is no workspace ${workspace}; create it with: workspace create ${workspace}`);
    await work({
      ...{ store, patientStore, workspace, output, logger, messengerVersion: config.MESSENGER_VERSION },
      realNetwork: isRealNetwork(config.MESSENGER_URL),
      record: async (action, target) => {
        const line = { user: COMMAND_LINE, action, workspace, ...(target !== undefined && { target }) };
        await recordAudit(store, line).catch((thrown: unknown) => {
          unlessRedisIsAway(thrown);
          terminal.stderr.write('done, but the audit log could not be written: Redis did not answer\n');
        });
      },
      webhookPolicy: webhookPolicy(config),
      mediaSource: mediaSource(config),
      ...{ stdin: terminal.stdin, stdout: terminal.stdout },
      dashboardUrl: config.DASHBOARD_URL.replace(/\/+$/, ''),
    });
  } finally {
    for (const stop of stops) stop();
    await redis.close();
  }
}
