import { toError } from '@gateway/runtime/errors';
import {
  type BaileysSocket,
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  proto,
  unpadRandomMax16,
  writeRandomPadMax16,
} from '../baileys.js';
import { isOwnPhone } from '../is-own-phone.js';
import type { Namespace } from './addressing-state.js';

export interface WatchMigrationDeps {
  onNamespace(namespace: Namespace): Promise<void>;
  /** Called with what could not be stored: the session must end. */
  onFailed(error: Error): void;
}

interface Mapping {
  pn: string;
  lid: string;
}

/** Mappings that are stored in one step. */
const MAPPINGS_PER_STEP = 1_000;
const MAX_MAPPINGS = 200_000;

/**
 * Hears from the account's phone in which namespace its conversations are: when it is linked (`client-props`), and when
 * it migrates later, with a list of the hidden identifiers of everyone it talks with. The library ignores the first, and
 * works through the second one person at a time while everything else waits; here it gets an empty list.
 */
export function watchMigration(sock: BaileysSocket, deps: WatchMigrationDeps): void {
  sock.ws.prependListener('CB:iq,,pair-success', (node: BinaryNode) => {
    const namespace = readClientProps(getBinaryNodeChild(node, 'pair-success'));
    // Nothing is stored before the library has the account: it goes with the credentials of the new device.
    if (namespace) deps.onNamespace(namespace).catch((thrown: unknown) => deps.onFailed(toError(thrown)));
  });
  const { signalRepository } = sock;
  const decrypt = signalRepository.decryptMessage.bind(signalRepository);
  signalRepository.decryptMessage = async (sealed) => {
    const plain = await decrypt(sealed);
    if (!isOwnPhone(sock.user, sealed.jid)) return plain;
    const migration = readMigration(plain);
    if (!migration) return plain;
    const { message, mappings } = migration;
    await storeMappings(sock, mappings);
    // The mappings first: from the flag on every conversation is looked for under its hidden identifier.
    await deps.onNamespace('lid');
    return withoutMappings(message);
  };
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

/** `undefined` for every other message, and for one that cannot be read: the library says so to the network itself. */
function readMigration(plain: Uint8Array): { message: proto.Message; mappings: Mapping[] } | undefined {
  try {
    const message = proto.Message.decode(unpadRandomMax16(plain));
    const payload = message.protocolMessage?.lidMigrationMappingSyncMessage?.encodedMappingPayload;
    return payload ? { message, mappings: readMappings(payload) } : undefined;
  } catch {
    return undefined;
  }
}

function readMappings(payload: Uint8Array): Mapping[] {
  const { pnToLidMappings } = proto.LIDMigrationMappingSyncPayload.decode(payload);
  return pnToLidMappings.slice(0, MAX_MAPPINGS).flatMap(({ pn, latestLid, assignedLid }) => {
    const lid = [latestLid, assignedLid].map((value) => String(value ?? 0)).find((value) => value !== '0');
    return lid && String(pn ?? 0) !== '0' ? [{ pn: `${pn}@s.whatsapp.net`, lid: `${lid}@lid` }] : [];
  });
}

/** Sessions that lie under a number move with it; people without one cost a look at the key store, many at a time. */
async function storeMappings({ signalRepository, authState }: BaileysSocket, mappings: Mapping[]): Promise<void> {
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

function withoutMappings(message: proto.Message): Uint8Array {
  const encodedMappingPayload = proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings: [] }).finish();
  const protocolMessage = { ...message.protocolMessage, lidMigrationMappingSyncMessage: { encodedMappingPayload } };
  return writeRandomPadMax16(proto.Message.encode({ ...message, protocolMessage }).finish());
}
