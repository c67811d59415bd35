import type { AuthenticationState, SignalRepositoryWithLIDStore } from '../socket/baileys.js';

/** A record of libsignal as it is stored. */
interface StoredRecord {
  _sessions?: Record<string, { registrationId?: unknown; indexInfo?: { closed?: number } }>;
}

const OPEN = -1;

/** Whether a message to a device can be encrypted: what the library answers, without decoding the keys in its record. */
export async function findSession(
  { lidMapping, jidToSignalProtocolAddress }: SignalRepositoryWithLIDStore,
  keys: Pick<AuthenticationState['keys'], 'get'>,
  jid: string,
): Promise<{ exists: boolean }> {
  // Sessions live under the hidden identifier, where it is known.
  const lid = jid.endsWith('lid') ? undefined : await lidMapping.getLIDForPN(jid);
  const address = jidToSignalProtocolAddress(lid ?? jid);
  const { [address]: record } = await keys.get('session', [address]);
  return { exists: hasOpenSession(record as StoredRecord | undefined) };
}

function hasOpenSession({ _sessions = {} }: StoredRecord = {}): boolean {
  const open = Object.values(_sessions).find(({ indexInfo }) => indexInfo?.closed === OPEN);
  return typeof open?.registrationId === 'number';
}
