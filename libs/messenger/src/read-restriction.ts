import type { BaileysSocket } from './baileys.js';
import { within } from './within.js';

const TIMEOUT_MS = 5_000;

/**
 * Until when the account may not start new chats, `undefined` when the network does not say.
 * There are two such limits, a lock and a quota; the library asks for neither when a message is refused for it.
 */
export async function readRestriction(sock: BaileysSocket, signal: AbortSignal): Promise<number | undefined> {
  const limit = { timeoutMs: TIMEOUT_MS, what: 'restriction', signal };
  const [lock, quota] = await Promise.allSettled([
    within(limit, sock.fetchAccountReachoutTimelock()),
    within(limit, sock.fetchNewChatMessageCap()),
  ]);
  const lockedUntilMs = lock.status === 'fulfilled' && lock.value.isActive && lock.value.timeEnforcementEnds?.getTime();
  const isCapped = quota.status === 'fulfilled' && quota.value?.capping_status === 'CAPPED';
  const cappedUntilMs = isCapped && Number(quota.value.cycle_end_timestamp) * 1000;
  const latestMs = Math.max(Number(lockedUntilMs) || 0, Number(cappedUntilMs) || 0);
  return latestMs > 0 ? latestMs : undefined;
}
