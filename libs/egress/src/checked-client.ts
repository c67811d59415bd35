import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buildConnector, Client } from 'undici';
import { checkedLookup, type FetchPolicy, portOf } from './fetch-policy.js';
import { SlicedSocket } from './sliced-socket.js';
import type { Surroundings } from './surroundings.js';

/** Names and values: as Node has it. */
const MAX_HEAD_BYTES = 16 * 1024;

interface Conditions {
  policy: FetchPolicy;
  /** Is told of each byte that comes. */
  surroundings: Surroundings;
  signal: AbortSignal;
  timeoutMs: number;
}

/**
 * A client for one request, on a connection of its own: what else comes on it is of no use to anyone. The address that was
 * checked is the one that it connects to. `close` ends the connection, whatever is still on its way.
 */
export function openClient(
  url: URL,
  { policy, surroundings, signal, timeoutMs }: Conditions,
): { client: Client; close(): Promise<void> } {
  const open = buildConnector({
    lookup: checkedLookup(url, policy, signal),
    timeout: timeoutMs,
    ...(policy.anyCertificate && { rejectUnauthorized: false }),
  });
  let connection: SlicedSocket | undefined;
  const client = new Client(url.origin, {
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: (options, callback) =>
      open({ ...options, protocol: 'http:', port: portOf(url) }, (...[error, socket]) => {
        if (error) return callback(error, null);
        const sliced = new SlicedSocket(socket, (bytes) => surroundings.came(bytes));
        connection = sliced;
        // A Duplex is all that is needed, though the types ask for more.
        const transport = sliced as Duplex as Socket;
        if (url.protocol === 'http:') return callback(null, transport);
        // Slices of what is encrypted: one turn may bring thousands of records, each with a byte of the file.
        const secured = open({ ...options, httpSocket: transport }, callback) as unknown as Socket;
        sliced.on('error', (failure) => secured.destroy(failure));
      }),
  });
  const close = async () => {
    connection?.destroy();
    await client.destroy();
  };
  return { client, close };
}
