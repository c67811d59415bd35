import type { Delivery } from '../accounts/delivery.js';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { ClientPayload, Network } from '../network/network.js';
import { type BinaryNode, node, SERVER } from '../wire/nodes.js';
import type { WireConnection } from '../wire/wire-connection.js';

/**
 * One client connection after its handshake: `registering` until it is linked, or `live` after a login, then `closed`.
 * A session that a newer login replaced is closed at once: whatever still arrives on its connection is counted, not taken.
 */
export class Session {
  readonly clientKey: Buffer;
  readonly payload: ClientPayload;
  readonly openedAtMs: number;
  device: LinkedDevice | undefined;
  state: 'registering' | 'live' | 'closed' = 'registering';
  /** What its device gets over this connection (2026). */
  delivery: Delivery | undefined;
  /** The server asked whether it is still there, and waits for the answer. */
  awaitsPong = false;
  /** A newer login of the same device took over. */
  superseded = false;
  readonly #network: Network;
  readonly #wire: WireConnection;
  #lastId = 0;

  constructor(network: Network, wire: WireConnection, clientKey: Buffer, payload: ClientPayload) {
    this.#network = network;
    this.#wire = wire;
    this.clientKey = clientKey;
    this.payload = payload;
    this.openedAtMs = network.now();
  }

  send(stanza: BinaryNode): void {
    if (this.state !== 'closed') this.#wire.send(stanza);
  }

  /** A person whom this client watches came or went. */
  tellPresence(jid: string, isHere: boolean): void {
    this.send(node('presence', isHere ? { from: jid } : { from: jid, type: 'unavailable', last: 'deny' }));
  }

  /** An id for a stanza that the server starts. */
  nextId(): string {
    this.#lastId += 1;
    return `${this.openedAtMs % 1e9}-${this.#lastId}`;
  }

  /** Answers a query. */
  reply(query: BinaryNode, children?: BinaryNode[]): void {
    this.send(node('iq', { from: query.attrs.to ?? SERVER, type: 'result', id: query.attrs.id }, children));
  }

  replyError(query: BinaryNode, code: number, text: string): void {
    const attrs = { from: query.attrs.to ?? SERVER, type: 'error', id: query.attrs.id };
    this.send(node('iq', attrs, [node('error', { code: String(code), text })]));
  }

  /** Refuses a login. */
  refuse(reason: number): void {
    this.#network.counters.refusedLogins += 1;
    this.#say(node('failure', { reason: String(reason), location: 'sim' }));
  }

  /** Ends the stream with a code: 515 restart, 503 unavailable, ... */
  endStream(code: number, child?: BinaryNode): void {
    this.#say(node('stream:error', { code: String(code) }, child && [child]));
  }

  /** Ends the stream over a stanza that was not confirmed. */
  endStreamOver(stanza: BinaryNode): void {
    const { id, from, participant } = stanza.attrs;
    this.#say(node('stream:error', {}, [node('ack', { class: stanza.tag, id, from, participant })]));
  }

  replace(): void {
    this.superseded = true;
    this.#network.counters.replacedLogins += 1;
    this.#say(node('stream:error', {}, [node('conflict', { type: 'replaced' })]));
  }

  unlink(): void {
    this.endStream(401, node('conflict', { type: 'device_removed' }));
  }

  close(): void {
    this.end();
    this.#wire.close();
  }

  /** Cuts the connection without a word. */
  cut(): void {
    this.end();
    this.#wire.cut();
  }

  /** The connection is gone: the device is free for the next one. Safe to repeat. */
  end(): void {
    this.state = 'closed';
    const { device } = this;
    const { presences, accounts } = this.#network;
    presences.forget(this);
    this.delivery?.stop();
    if (!device) return;
    device.mailbox.detach(this);
    if (device.connection !== this) return;
    device.connection = undefined;
    if (!device.available) return;
    device.available = false;
    presences.tell(device.number, accounts.find(device.number)?.isHere ?? false);
  }

  #say(last: BinaryNode): void {
    if (this.state === 'closed') return;
    this.#wire.send(last);
    this.close();
  }
}
