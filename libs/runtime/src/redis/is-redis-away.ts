import { GatewayError, toError } from '../errors.js';

/** ioredis has no codes for these, only sentences. */
const CONNECTION_ERRORS = new Set([
  "Stream isn't writeable and enableOfflineQueue options is false",
  // The same of a Cluster that has no node left.
  "Cluster isn't ready and enableOfflineQueue options is false",
  'Connection is closed.',
  'Command timed out',
]);
const NAMES = new Set(['MaxRetriesPerRequestError', 'AbortError', 'ClusterAllFailedError']);
/** Replies of a Redis that is up but cannot do it now: starting, failing over, full, or unable to write to its disk. */
const PASSING_REPLY = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|OOM|BUSY|NOREPLICAS|MISCONF)\b/;
/** A client of a Cluster that was sent to and fro between nodes, of which one is away. */
const LOST_IN_CLUSTER = /^Too many Cluster redirections\b/;
const CODES = new Set([
  'redis_away',
  'not_confirmed',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'ENOTFOUND',
]);

/** Whether an error says that Redis cannot be used for now, which is worth another try, unlike a fault of ours. */
export function isRedisAway(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return (
    CONNECTION_ERRORS.has(error.message) ||
    NAMES.has(error.name) ||
    PASSING_REPLY.test(error.message) ||
    LOST_IN_CLUSTER.test(error.message) ||
    (code !== undefined && CODES.has(code))
  );
}

/** Replicas do not say that they have what was written, or read: it may be lost with its master. */
export function isNotConfirmed(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && thrown.code === 'not_confirmed';
}

/** It takes nothing new until it has room again, which is no matter of seconds. */
export function isRedisFull(error: Error): boolean {
  return error.message.startsWith('OOM ');
}

/** For `catch`, where nothing is lost without Redis: passes other errors on. */
export function unlessRedisIsAway(thrown: unknown): undefined {
  const error = toError(thrown);
  if (!isRedisAway(error)) throw error;
}
