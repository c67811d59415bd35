import { deserialize, serialize } from 'node:v8';
import type { Network } from './network.js';

const VERSION = 1;

/** Packs what a restart must not lose: who exists, accounts and their clients, phones with sessions and inboxes, groups. */
export function saveState(network: Network): Buffer {
  return serialize({
    version: VERSION,
    root: network.credentials.rootPublicKey,
    absent: network.directory.save(),
    accounts: network.accounts.save(),
    phones: network.phones.save(),
    groups: network.groups.save(),
  });
}

/** Fills a new network with what was saved. Throws when it was saved by another version or under another seed. */
export function loadState(network: Network, bytes: Buffer): void {
  const state = deserialize(bytes);
  if (state.version !== VERSION) throw new Error(`state has version ${state.version}, not ${VERSION}`);
  if (Buffer.compare(state.root, network.credentials.rootPublicKey) !== 0) throw new Error('state has another seed');
  network.directory.load(state.absent);
  network.accounts.load(state.accounts);
  network.phones.load(state.phones);
  network.groups.load(state.groups);
}
