import { LRUCache } from 'lru-cache';
import { ProtocolAddress } from 'whatsapp-rust-bridge';

/** Senders in play at a time; the rest is made anew. */
const CACHED_ADDRESSES = 5_000;

const cache = new LRUCache<string, ProtocolAddress>({ max: CACHED_ADDRESSES });

/**
 * The bridge's name of a device. Shared, since the bridge only reads them: every new one is an object that the garbage
 * collector must finalize.
 */
export function signalAddress(number: string, device: number): ProtocolAddress {
  const name = `${number}.${device}`;
  let address = cache.get(name);
  if (!address) {
    address = new ProtocolAddress(number, device);
    cache.set(name, address);
  }
  return address;
}
