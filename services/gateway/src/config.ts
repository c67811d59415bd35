import { type GatewayConfig, gatewayKeys } from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import Joi from 'joi';
import { isRole, ROLE_NAMES, type Role } from './roles.js';

/** The settings of a process, beside those of its roles. Each is an environment variable of that name. */
export interface ProcessConfig extends GatewayConfig {
  /** What the process does: any of `connection,sender,api,dashboard`. Default: all of them. */
  ROLES: Role[];
}

const schema = Joi.object<ProcessConfig>({
  ...gatewayKeys,
  ROLES: Joi.string().custom(parseRoles).default(ROLE_NAMES),
});

/** Throws an error that names every variable with a problem. */
export function readProcessConfig(environment: NodeJS.ProcessEnv = process.env): ProcessConfig {
  return readConfig(schema, environment);
}

function parseRoles(list: string): Role[] {
  const names = list.split(',').map((name) => name.trim());
  if (!names.every(isRole)) throw new Error(`must be some of ${ROLE_NAMES.join(', ')}`);
  // In the order in which they start: the API when there is someone to do what it promises, the console last.
  return ROLE_NAMES.filter((role) => names.includes(role));
}
