import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface RedisProxy {
  url: string;
  /** Drops every connection and refuses new ones: as when Redis is down. */
  cut(): void;
  /** Passes nothing on and reports nothing, as when its machine hangs. */
  freeze(): void;
  /** From now on what Redis answers comes so much later, as from far away. */
  setDelay(ms: number): void;
  /** From now on new connections lead to another Redis; those that are there stay. */
  lead(redisUrl: string): void;
  /** All is well again. */
  restore(): void;
  /** In how many pieces its clients have sent what they sent until now. */
  readonly sentPieces: number;
  close(): void;
}

type Mode = 'open' | 'cut' | 'frozen';

/** Stands between a process and the Redis of the test run, which others use at the same time. */
export async function startRedisProxy(redisUrl: string): Promise<RedisProxy> {
  let target = new URL(redisUrl);
  const sockets = new Set<Socket>();
  let mode: Mode = 'open';
  let delayMs = 0;
  let sentPieces = 0;
  const server = createServer((near) => {
    const far = connect(Number(target.port || 6379), target.hostname);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      sockets.add(from);
      const pass = passLater(to);
      from.on('data', (data) => mode === 'open' && pass(data, from === far ? delayMs : 0));
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    near.on('data', () => sentPieces++);
    if (mode === 'cut') near.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(redisUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const change = (next: Mode) => () => {
    // What was swallowed while frozen is lost: only a new connection is whole again.
    if (next !== 'frozen') for (const socket of sockets) socket.destroy();
    mode = next;
  };
  return {
    url: url.href,
    cut: change('cut'),
    freeze: change('frozen'),
    setDelay: (ms) => {
      delayMs = ms;
    },
    lead: (to) => {
      target = new URL(to);
    },
    restore: change('open'),
    get sentPieces() {
      return sentPieces;
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Keeps the order, also where a long delay is followed by a short one. */
function passLater(to: Socket): (data: Buffer, delayMs: number) => void {
  const waiting: Buffer[] = [];
  return (data, delayMs) => {
    if (delayMs === 0 && waiting.length === 0) {
      to.write(data);
      return;
    }
    waiting.push(data);
    setTimeout(() => to.write(waiting.shift()!), delayMs);
  };
}
