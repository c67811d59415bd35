import { loggerOptions } from '@gateway/runtime/config/gateway-config';
import { createLogger } from '@gateway/runtime/logs/logger';
import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { startProcessHost } from '@gateway/runtime/process/process-host';
import type { RedisPurpose } from '@gateway/runtime/redis/redis-clients';
import { listUnknownSettings, readProcessConfig } from './config.js';
import { LOAD_ROLE } from './roles.js';

/** Runs the roles that `ROLES` names in this process; the lifecycle stops them, the one that started last first. */
export async function runRoles(lifecycle: Lifecycle): Promise<void> {
  const config = readProcessConfig();
  const logger = createLogger(loggerOptions(config, 'gateway'));
  for (const unknown of listUnknownSettings()) logger.warn('unknown setting is ignored', { ...unknown });
  const roles = await Promise.all(config.ROLES.map((role) => LOAD_ROLE[role]()));
  // Each role says which connections it needs: together they have no other.
  const host = await startProcessHost<RedisPurpose>(lifecycle, {
    name: config.ROLES.length === 1 ? config.ROLES[0]! : 'gateway',
    config,
    purposes: [...new Set(roles.flatMap(({ connections }) => connections))],
  });
  for (const role of roles) await role.run(host);
  host.started();
}
