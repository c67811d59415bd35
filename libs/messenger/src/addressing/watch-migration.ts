import { toError } from '@gateway/runtime/errors';
import { readFields } from '../history/read-fields.js';
import { type OwnNotice, takeOwnNotices } from '../inbound/own-notices.js';
import { ownUsers } from '../lookup/is-own-phone.js';
import {
  type BaileysSocket,
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  jidDecode,
  proto,
} from '../socket/baileys.js';
import { watchSettings } from '../tokens/watch-settings.js';
import { MIGRATION_SETTING, type Namespace } from './addressing-state.js';

export interface WatchMigrationDeps {
  onNamespace(namespace: Namespace): Promise<void>;
  /** The network reports at login whether the account may have migrated. */
  onSetting(isEnabled: boolean): Promise<void>;
  /** Called with the error if storing failed: the session must end. */
  onFailed(error: Error): void;
}

interface Mapping {
  pn: string;
  lid: string;
}

/** Mappings that are stored in one step. */
const MAPPINGS_PER_STEP = 1_000;
const MAX_MAPPINGS = 20_000;
/** Of three numbers, with as many bytes as a number can have. */
const MAX_MAPPING_BYTES = 64;
const MAPPINGS_FIELD = 1;
const NO_MAPPINGS = proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings: [] }).finish();
const { LID_MIGRATION_MAPPING_SYNC } = proto.Message.ProtocolMessage.Type;

/**
 * Hears from the account's phone in which namespace its conversations are: when it is linked (`client-props`), and when
 * it migrates later, with a list of the hidden identifiers of everyone it talks with. The library ignores the first, and
 * works through the second one person at a time while everything else waits, whichever device of the account sent it; here
 * it gets an empty list.
 */
export function watchMigration(sock: BaileysSocket, deps: WatchMigrationDeps): void {
  sock.ws.prependListener('CB:iq,,pair-success', (node: BinaryNode) => {
    const namespace = readClientProps(getBinaryNodeChild(node, 'pair-success'));
    // Nothing is stored before the library has the account: it goes with the credentials of the new device.
    if (namespace) deps.onNamespace(namespace).catch((thrown: unknown) => deps.onFailed(toError(thrown)));
  });
  watchSettings(sock, (settings) => {
    const isEnabled = settings.get(MIGRATION_SETTING);
    if (isEnabled !== undefined) deps.onSetting(isEnabled).catch((thrown: unknown) => deps.onFailed(toError(thrown)));
  });
  takeOwnNotices(
    sock,
    () => sock.user,
    (notice) => takeMigration(sock, deps, notice),
  );
}

async function takeMigration(
  sock: BaileysSocket,
  deps: WatchMigrationDeps,
  { protocol, isFromPhone }: OwnNotice,
): Promise<boolean> {
  const push = protocol.lidMigrationMappingSyncMessage;
  if (!push && protocol.type !== LID_MIGRATION_MAPPING_SYNC) return false;
  const mappings = isFromPhone ? readMappings(push?.encodedMappingPayload) : undefined;
  protocol.lidMigrationMappingSyncMessage = { encodedMappingPayload: NO_MAPPINGS };
  if (!mappings) return true;
  await storeMappings(sock, mappings);
  // The mappings first: from the flag on every conversation is looked for under its hidden identifier.
  await deps.onNamespace('lid');
  return true;
}

function readClientProps(pairSuccess: BinaryNode | undefined): Namespace | undefined {
  const bytes = getBinaryNodeChildBuffer(pairSuccess, 'client-props');
  if (!bytes) return undefined;
  try {
    return proto.ClientPairingProps.decode(bytes).isChatDbLidMigrated ? 'lid' : 'pn';
  } catch {
    return undefined;
  }
}

/** The first of them, and none that is longer than one can be; `undefined` for a list that cannot be read. */
function readMappings(payload: Uint8Array | null | undefined): Mapping[] | undefined {
  if (!payload) return undefined;
  const mappings: Mapping[] = [];
  let left = MAX_MAPPINGS;
  try {
    for (const { id, value } of readFields(payload)) {
      if (left-- === 0) break;
      if (id === MAPPINGS_FIELD && typeof value !== 'number') mappings.push(...readMapping(value));
    }
  } catch {
    return undefined;
  }
  return mappings;
}

function readMapping(bytes: Uint8Array): Mapping[] {
  if (bytes.length > MAX_MAPPING_BYTES) return [];
  const { pn, latestLid, assignedLid } = proto.LIDMigrationMapping.decode(bytes);
  const lid = [latestLid, assignedLid].map((value) => String(value ?? 0)).find((value) => value !== '0');
  return lid && String(pn ?? 0) !== '0' ? [{ pn: `${pn}@s.whatsapp.net`, lid: `${lid}@lid` }] : [];
}

/** Sessions that lie under a number move with it; people without one cost a look at the key store, many at a time. */
async function storeMappings({ signalRepository, authState, user }: BaileysSocket, all: Mapping[]): Promise<void> {
  // Our own names come from the network: under others our own devices would not be known as such.
  const own = ownUsers(user);
  const mappings = all.filter(({ pn, lid }) => !own.has(jidDecode(pn)?.user) && !own.has(jidDecode(lid)?.user));
  for (let from = 0; from < mappings.length; from += MAPPINGS_PER_STEP) {
    const step = mappings.slice(from, from + MAPPINGS_PER_STEP);
    await signalRepository.lidMapping.storeLIDPNMappings(step);
    const users = step.map(({ pn }) => pn.slice(0, pn.indexOf('@')));
    const lists = await authState.keys.get('device-list', users);
    for (const [index, { pn, lid }] of step.entries()) {
      if (lists[users[index]!]) await signalRepository.migrateSession(pn, lid);
    }
  }
}
