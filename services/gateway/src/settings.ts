import { apiSettings } from '@gateway/api/config';
import { connectionSettings } from '@gateway/connection/config';
import { dashboardSettings } from '@gateway/dashboard/config';
import { eventsSettings } from '@gateway/events/config';
import { type GatewayConfig, gatewayKeys } from '@gateway/runtime/config/gateway-config';
import { senderSettings } from '@gateway/sender/config';
import Joi from 'joi';
import { isRole, ROLE_NAMES, type Role } from './roles.js';

/** The settings of a process, beside those of its roles. Each is an environment variable of that name. */
export interface ProcessConfig extends GatewayConfig {
  /** What the process does: any of `connection,sender,events,dashboard,api`. Default: all of them. */
  ROLES: Role[];
}

/** What every process takes from its environment, and what each role does. */
export const SETTINGS = {
  process: Joi.object<ProcessConfig>({ ...gatewayKeys, ROLES: Joi.string().custom(parseRoles).default(ROLE_NAMES) }),
  ...{ connection: connectionSettings, sender: senderSettings, events: eventsSettings },
  ...{ api: apiSettings, dashboard: dashboardSettings },
} satisfies Record<Role | 'process', Joi.ObjectSchema>;

function parseRoles(list: string): Role[] {
  const names = list.split(',').map((name) => name.trim());
  if (!names.every(isRole)) throw new Error(`must be some of ${ROLE_NAMES.join(', ')}`);
  // In the order in which they start: the API when there is someone to do what it promises.
  return ROLE_NAMES.filter((role) => names.includes(role));
}
