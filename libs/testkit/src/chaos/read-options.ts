import { parseArgs } from 'node:util';
import { LIMITS } from '@gateway/contracts/limits';
import { GatewayError } from '@gateway/runtime/errors';
import { REDIS_KINDS, type RedisKind, replicasOf } from './redis/start-redis.js';
import type { ChaosOptions } from './run-chaos.js';

const MESSAGES = 20_000;
const [FEWEST, MOST] = [20, 2_000];

type Options = Required<Pick<ChaosOptions, 'rounds' | 'seed' | 'devices' | 'recipients' | 'redis' | 'waitReplicas'>> & {
  /** Says nothing but the result. */
  json: boolean;
};

/**
 * What a run is asked for on the command line. Throws where it could not go on, or would not be the run that was meant.
 *
 * @param defaults.waitReplicas `REDIS_WAIT_REPLICAS` as it is set for this process.
 */
export function readOptions(args: readonly string[], defaults: { seed: number; waitReplicas: string }): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '3' },
      seed: { type: 'string', default: String(defaults.seed) },
      devices: { type: 'string', default: '3' },
      recipients: { type: 'string' },
      redis: { type: 'string', default: 'single' },
      'wait-replicas': { type: 'string', default: defaults.waitReplicas },
      json: { type: 'boolean', default: false },
    },
  });
  const redis = REDIS_KINDS.find((kind) => kind === values.redis);
  if (!redis) throw usage(`--redis must be one of ${REDIS_KINDS.join(', ')}`);
  const devices = wholeNumber('--devices', values.devices, { min: 1 });
  // Per list; a thousand devices send as much together as a few with lists of the usual length.
  const share = Math.max(FEWEST, Math.min(MOST, Math.floor(MESSAGES / devices)));
  return {
    rounds: wholeNumber('--rounds', values.rounds, { min: 1 }),
    seed: wholeNumber('--seed', values.seed),
    devices,
    recipients: wholeNumber('--recipients', values.recipients ?? String(share), { min: 1, max: LIMITS.maxRecipients }),
    redis,
    waitReplicas: readWaitReplicas(values['wait-replicas'], redis),
    json: values.json,
  };
}

/** For more replicas than there are every promise would wait in vain, and the run with them. */
function readWaitReplicas(text: string, redis: RedisKind): number {
  const name = '--wait-replicas (or REDIS_WAIT_REPLICAS)';
  const count = wholeNumber(name, text);
  const max = replicasOf(redis);
  if (count <= max) return count;
  const most = max === 0 ? 'there are no replicas' : `each master has ${max}`;
  throw usage(`${name} is ${count}, but with --redis ${redis} ${most}`);
}

function wholeNumber(name: string, text: string, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw usage(`${name} takes a whole number ${range}, and not ${JSON.stringify(text)}`);
}

function usage(message: string): GatewayError {
  return new GatewayError({ code: 'usage', message });
}
