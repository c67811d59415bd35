import type { Simulator } from '@gateway/simulator/start-simulator';
import { findSteadyPort } from '../../redis-servers/steady-port.js';
import { PATIENCE } from '../patience.js';
import type { Fleet } from './fleet.js';

export const KEYS = { CREDENTIAL_KEYS: `k:${'0b'.repeat(32)}`, CONTENT_KEYS: `k:${'0c'.repeat(32)}` };

/** Short, so that much is taken over. */
const TIMEOUT_MS = 3_000;

/**
 * Starts all processes of a gateway, and answers where its API listens.
 * @param redisSettings of each process.
 */
export async function startGateway(
  fleet: Fleet,
  simulator: Simulator,
  redisSettings: Record<string, string>,
): Promise<string[]> {
  const timeoutMs = String(Math.round(TIMEOUT_MS * PATIENCE));
  const env = {
    ...redisSettings,
    ...KEYS,
    MESSENGER_URL: simulator.socketUrl,
    MESSENGER_TRUST: `root:${simulator.rootPublicKeyHex}`,
    WEBHOOK_NETWORKS: '127.0.0.1/32',
    SESSION_TTL_MS: timeoutMs,
    ACK_TIMEOUT_MS: timeoutMs,
    LOG_LEVEL: 'info',
  };
  const ports = [await findSteadyPort(), await findSteadyPort()];
  await fleet.start([
    ...[1, 2].map(() => ({ service: 'connection' as const, env })),
    ...[1, 2, 3, 4].map(() => ({ service: 'sender' as const, env })),
    ...[1, 2].map(() => ({ service: 'events' as const, env })),
    ...ports.map((port) => ({ service: 'api' as const, env: { ...env, CREDENTIAL_KEYS: '', API_PORT: String(port) } })),
  ]);
  return ports.map((port) => `http://127.0.0.1:${port}/api/messenger/v1`);
}
