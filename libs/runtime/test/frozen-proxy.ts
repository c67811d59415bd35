import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface FrozenProxy {
  port: number;
  /** From now on nothing passes, and nobody is told: as when a machine hangs. */
  freeze(): void;
  /** What was held back arrives. */
  thaw(): void;
  close(): void;
}

/** A TCP proxy that can stop without closing anything. */
export async function startProxy(target: URL): Promise<FrozenProxy> {
  /** Each socket, with the one that its bytes go to. */
  const peers = new Map<Socket, Socket>();
  let frozen = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port || 6379), target.hostname);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      peers.set(from, to);
      if (!frozen) from.pipe(to);
      from.on('error', () => {});
      from.on('close', () => {
        peers.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    freeze: () => {
      frozen = true;
      for (const from of peers.keys()) from.unpipe().pause();
    },
    thaw: () => {
      frozen = false;
      for (const [from, to] of peers) from.pipe(to);
    },
    close: () => {
      server.close();
      for (const socket of peers.keys()) socket.destroy();
    },
  };
}
