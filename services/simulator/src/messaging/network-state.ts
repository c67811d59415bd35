import { deserialize, serialize } from 'node:v8';
import type { Network } from '../network/network.js';
import type { PostOffice } from './post-office.js';

const VERSION = 1;

/**
 * Packs what a restart must not lose: who exists, accounts and their clients, phones with sessions and inboxes, groups,
 * what waits for phones that are off, what phones wrote. Phones work through what arrived before the event loop turns:
 * at any turn the state is whole.
 */
export function saveState(network: Network, office: PostOffice): Buffer {
  return serialize({
    version: VERSION,
    root: network.credentials.rootPublicKey,
    absent: network.directory.save(),
    identities: network.directory.identities.save(),
    accounts: network.accounts.save(),
    phones: network.phones.save(),
    groups: network.groups.save(),
    waiting: office.phones.save(),
    written: office.writer.save(),
  });
}

/** Fills a new network with what was saved. Throws when it was saved by another version or under another seed. */
export function loadState(network: Network, office: PostOffice, bytes: Buffer): void {
  const state = deserialize(bytes);
  if (state.version !== VERSION) throw new Error(`state has version ${state.version}, not ${VERSION}`);
  if (Buffer.compare(state.root, network.credentials.rootPublicKey) !== 0) throw new Error('state has another seed');
  network.directory.load(state.absent);
  network.accounts.load(state.accounts);
  network.phones.load(state.phones);
  network.groups.load(state.groups);
  // Younger than the first states.
  if (state.identities) network.directory.identities.load(state.identities);
  office.phones.load(state.waiting ?? new Map());
  office.writer.load(state.written ?? new Map());
}
