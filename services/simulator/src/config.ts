import Joi from 'joi';
import type { LogLevel } from './logger.js';
import { PROFILES, type Profile } from './network/rules.js';

export interface SimulatorConfig {
  readonly profile: Profile;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly seed: string;
  readonly latencyMs: number;
  readonly decryptSample: number;
  readonly stateFile: string | undefined;
  readonly trace: boolean;
  readonly logLevel: LogLevel;
}

const schema = Joi.object({
  /** Which year's network it behaves as. Clients that are unaware of hidden identifiers need 2025. */
  SIMULATOR_PROFILE: Joi.string()
    .valid(...PROFILES)
    .default('2026'),
  /** Address to listen on. */
  SIMULATOR_HOST: Joi.string().default('127.0.0.1'),
  /** 0 is any free port. */
  SIMULATOR_PORT: Joi.number().port().allow(0).default(0),
  /** wss and https with a self-signed certificate. */
  SIMULATOR_TLS: Joi.boolean().default(false),
  SIMULATOR_SEED: Joi.string().default('simulator'),
  SIMULATOR_LATENCY_MS: Joi.number().min(0).default(0),
  /** Share of the phones that really decrypt. */
  SIMULATOR_DECRYPT_SAMPLE: Joi.number().min(0).max(1).default(1),
  /** Read at the start if it is there, kept up to date from then on: accounts, devices, phones and groups outlive a restart. */
  SIMULATOR_STATE_FILE: Joi.string(),
  /** Every stanza in both directions on stderr, as readable text. */
  SIMULATOR_TRACE: Joi.boolean().default(false),
  LOG_LEVEL: Joi.string().valid('debug', 'info', 'warn', 'error', 'silent').default('warn'),
}).unknown();

/** Reads and checks the environment. Throws with every problem at once. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): SimulatorConfig {
  const { value, error } = schema.validate(env, { abortEarly: false });
  if (error) throw new Error(`Wrong configuration: ${error.message}`);
  return {
    profile: value.SIMULATOR_PROFILE,
    host: value.SIMULATOR_HOST,
    port: value.SIMULATOR_PORT,
    tls: value.SIMULATOR_TLS,
    seed: value.SIMULATOR_SEED,
    latencyMs: value.SIMULATOR_LATENCY_MS,
    decryptSample: value.SIMULATOR_DECRYPT_SAMPLE,
    stateFile: value.SIMULATOR_STATE_FILE,
    trace: value.SIMULATOR_TRACE,
    logLevel: value.LOG_LEVEL,
  };
}
