import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buildConnector, Client } from 'undici';
import { checkedLookup, type FetchPolicy, portOf } from '../fetch-policy.js';
import { SlicedSocket } from '../sliced-socket.js';

/** Names and values: as Node has it. */
const MAX_HEAD_BYTES = 16 * 1024;
/**
 * Without a request for so long a connection is asked each second whether it is there still, and ends after ten questions without an answer:
 * of one that the network has dropped in silence the next request would learn only at the end of its time.
 */
const ASKED_AFTER_MS = 5_000;

interface Conditions {
  policy: FetchPolicy;
  /** Is told of each byte that comes. */
  surroundings: { came(bytes: number): void };
  /** Of the connecting. */
  signal: AbortSignal;
  timeoutMs: number;
  /** How long it may be without a request, if its server does not want less. */
  idleMs?: number;
}

export interface CheckedClient {
  client: Client;
  /** Of answers: without what TLS adds. */
  bytesRead(): number;
  /** Ends the connection, whatever is still on its way. */
  close(): Promise<void>;
}

/** A client with one connection, and no other after it. The address that was checked is the one that it connects to. */
export function openClient(url: URL, { policy, surroundings, signal, timeoutMs, idleMs }: Conditions): CheckedClient {
  const open = buildConnector({
    lookup: checkedLookup(url, policy, signal),
    timeout: timeoutMs,
    keepAliveInitialDelay: ASKED_AFTER_MS,
    ...(policy.anyCertificate && { rejectUnauthorized: false }),
  });
  let connection: SlicedSocket | undefined;
  let transport: Pick<Socket, 'bytesRead'> | undefined;
  const client = new Client(url.origin, {
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    ...(idleMs && { keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs }),
    connect: (options, callback) => {
      // The name would be asked for again, with a signal that is over.
      if (connection) return callback(new Error('its connection has ended'), null);
      const connected: typeof callback = (...args) => {
        transport = args[1] ?? undefined;
        callback(...args);
      };
      open({ ...options, protocol: 'http:', port: portOf(url) }, (...[error, socket]) => {
        if (error) return connected(error, null);
        const sliced = new SlicedSocket(socket, (bytes) => surroundings.came(bytes));
        connection = sliced;
        // A Duplex is all that is needed, though the types ask for more.
        const plain = sliced as Duplex as Socket;
        if (url.protocol === 'http:') return connected(null, plain);
        // Slices of what is encrypted: one turn may bring thousands of records, each with a byte of the file.
        const over = { ...options, ...serverNameOf(url), httpSocket: plain };
        const secured = open(over, connected) as unknown as Socket;
        sliced.on('error', (failure) => secured.destroy(failure));
      });
    },
  });
  const close = async () => {
    connection?.destroy();
    await client.destroy();
  };
  return { client, close, bytesRead: () => transport?.bytesRead ?? 0 };
}

/** In TLS a name has no dot at its end, which servers refuse. */
function serverNameOf({ hostname }: URL): { servername?: string } {
  return hostname.endsWith('.') ? { servername: hostname.slice(0, -1) } : {};
}
