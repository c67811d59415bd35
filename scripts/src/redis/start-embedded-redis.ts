import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { failWhenEnded, startChild } from '../child-process.js';
import { findFreePort } from '../gateway/find-free-port.js';
import { findRedisServer } from './find-redis-server.js';

export interface EmbeddedRedisOptions {
  /** Where its data lives; made if need be. */
  folder: string;
  /** `redis.log` in that folder, unless it shall outlive it. */
  logFile?: string;
  /** How long to wait for another one to leave the folder. */
  folderTimeoutMs?: number;
}

const READY_TIMEOUT_MS = 60_000;

/**
 * Starts a Redis of our own on a free port of this machine, with a password, set up never to forget a message.
 * Returns its URL once it answers. It ends with the lifecycle, and soon after us when we are killed.
 */
export async function startEmbeddedRedis(
  lifecycle: Lifecycle,
  { folder, logFile = `${folder}/redis.log`, folderTimeoutMs = 10_000 }: EmbeddedRedisOptions,
): Promise<string> {
  const program = await findRedisServer();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await waitUntilUnused(pidFile(folder), folderTimeoutMs);
  const port = await findFreePort();
  const password = randomBytes(16).toString('hex');
  const guard = startChild(lifecycle, {
    name: 'redis',
    module: 'scripts/dist/redis/redis-guard.js',
    output: 'inherit',
    detached: true,
  });
  guard.process.send({ program, settings: settings({ folder, logFile, port, password }) });
  await Promise.race([waitUntilReady(port, password), failWhenEnded('redis', guard, lifecycle)]);
  return `redis://:${password}@127.0.0.1:${port}`;
}

interface RedisSettings {
  folder: string;
  logFile: string;
  port: number;
  password: string;
}

function settings({ folder, logFile, port, password }: RedisSettings): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir "${folder}"`,
    `pidfile "${pidFile(folder)}"`,
    `logfile "${logFile}"`,
    'appendonly yes',
    'save ""',
    'maxmemory-policy noeviction',
    'loglevel warning',
    '',
  ].join('\n');
}

function pidFile(folder: string): string {
  return `${folder}/redis.pid`;
}

/** Two servers on one folder would destroy it. One of a launcher that was just killed is about to leave. */
async function waitUntilUnused(file: string, timeoutMs: number): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + timeoutMs;
  while (existsSync(file) && isAlive(Number(readFileSync(file, 'utf8')))) {
    if (systemClock.monotonicMs() > deadlineMs) {
      const message = `Another Redis uses this data. End it first, or remove ${file} if there is none.`;
      throw new GatewayError({ code: 'data_in_use', message });
    }
    await sleep(100);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function waitUntilReady(port: number, password: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + READY_TIMEOUT_MS;
  while (!(await answersPing(port, password))) {
    if (systemClock.monotonicMs() > deadlineMs) {
      throw new GatewayError({
        code: 'redis_away',
        message: `Redis does not answer after ${READY_TIMEOUT_MS / 1000} s.`,
      });
    }
    await sleep(25);
  }
}

/** False while there is no listener and while the data is being read. */
function answersPing(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
      if (answer.includes('PONG') || answer.includes('-')) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer.includes('PONG')));
  });
}
