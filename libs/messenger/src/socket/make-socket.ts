import { captureRejectionSymbol, EventEmitter } from 'node:events';
import type { MessengerTrust } from '@gateway/runtime/config/messenger-trust';
import { type BaileysSocket, makeWASocket, type UserFacingSocketConfig } from './baileys.js';
import { shareStorage } from './share-storage.js';
import { withTrust } from './trust.js';

export interface MakeSocketOptions {
  trust: MessengerTrust;
  /** Data from the server could not be read: the connection cannot be used any more. */
  onBroken(error: unknown): void;
}

/**
 * Makes a socket of the library whose failures stay its own.
 *
 * The library listens with async functions and leaves their rejections to the process: one frame that cannot be
 * decrypted would end it, with the sessions of every other device. Node's `captureRejections` turns them into calls of
 * a method; an emitter takes it over when it is made, so it is on while the library makes its emitters, synchronously.
 */
export function makeSocket(settings: UserFacingSocketConfig, { trust, onBroken }: MakeSocketOptions): BaileysSocket {
  const before = EventEmitter.captureRejections;
  EventEmitter.captureRejections = true;
  try {
    const sock = withTrust(trust, () => shareStorage(() => makeWASocket(settings)));
    contain(sock, settings, onBroken);
    forgetMessages(sock);
    return sock;
  } finally {
    EventEmitter.captureRejections = before;
  }
}

function contain(sock: BaileysSocket, { logger }: UserFacingSocketConfig, onBroken: (error: unknown) => void): void {
  const note = (error: unknown) => logger?.warn({ error }, 'a listener failed');
  Object.assign(sock.ws, {
    [captureRejectionSymbol](error: unknown, event: string) {
      note(error);
      if (event === 'message') onBroken(error);
    },
  });
  // The library's event emitter hides behind a wrapper: its `error` event is where its rejections end up.
  (sock.ev as unknown as EventEmitter).on('error', note);
}

/**
 * The library keeps the last 512 messages of each socket for five minutes, received or sent and of whatever length, each with a timer: with
 * some devices and long texts more than the heap has. A phone that asks for one again gets it from what was accepted, and its
 * request does not reach the library. What that sets aside for both, before there is anything, is 72 kB a socket.
 */
function forgetMessages({ messageRetryManager }: BaileysSocket): void {
  if (!messageRetryManager) return;
  messageRetryManager.addRecentMessage = () => {};
  Object.assign(messageRetryManager, { recentMessagesMap: new Map(), baseKeys: new Map() });
}
