import type { ProcessHost } from '@gateway/runtime/process/process-host';
import type { RedisPurpose } from '@gateway/runtime/redis/redis-clients';

/**
 * Parts of the gateway that can have a process of their own, in the order in which they start: the API last, so that its callers never wait
 * for other roles to start. It ends first, while the others still answer it.
 */
export const ROLE_NAMES = ['connection', 'sender', 'events', 'dashboard', 'api'] as const;
export type Role = (typeof ROLE_NAMES)[number];

export function isRole(name: string): name is Role {
  return (ROLE_NAMES as readonly string[]).includes(name);
}

/** A role whose settings were read, and found good. */
export interface ReadyRole {
  /** The Redis connections that it needs. */
  connections: readonly RedisPurpose[];
  run(host: ProcessHost): Promise<void>;
}

/** Loads the code of a role, which others do not pay for, and reads its settings. Throws an error that names those that are wrong. */
export const LOAD_ROLE: Record<Role, () => Promise<ReadyRole>> = {
  connection: async () => {
    const { readConnectionConfig } = await import('@gateway/connection/config');
    const config = readConnectionConfig();
    const { CONNECTION_CONNECTIONS, runConnection } = await import('@gateway/connection/run-connection');
    return { connections: CONNECTION_CONNECTIONS, run: (host) => runConnection(config, host) };
  },
  sender: async () => {
    const { readSenderConfig } = await import('@gateway/sender/config');
    const config = readSenderConfig();
    const { runSender, SENDER_CONNECTIONS } = await import('@gateway/sender/run-sender');
    return { connections: SENDER_CONNECTIONS, run: (host) => runSender(config, host) };
  },
  events: async () => {
    const { readEventsConfig } = await import('@gateway/events/config');
    const config = readEventsConfig();
    const { EVENTS_CONNECTIONS, runEvents } = await import('@gateway/events/run-events');
    return { connections: EVENTS_CONNECTIONS, run: (host) => runEvents(config, host) };
  },
  api: async () => {
    const { readApiConfig } = await import('@gateway/api/config');
    const config = readApiConfig();
    const { API_CONNECTIONS, runApi } = await import('@gateway/api/run-api');
    return { connections: API_CONNECTIONS, run: (host) => runApi(config, host) };
  },
  dashboard: async () => {
    const { readDashboardConfig } = await import('@gateway/dashboard/config');
    const config = readDashboardConfig();
    const { DASHBOARD_CONNECTIONS, runDashboard } = await import('@gateway/dashboard/run-dashboard');
    return { connections: DASHBOARD_CONNECTIONS, run: (host) => runDashboard(config, host) };
  },
};
