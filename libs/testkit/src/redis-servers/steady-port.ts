import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that operating systems give to outgoing connections (32768 and up on Linux, 49152 elsewhere). */
const [LOWEST, HIGHEST] = [20_000, 32_000];
/** By this process: who got one may not listen yet. */
const given = new Set<number>();

/**
 * A port for a process that is killed and started again: while it is away, no connection of another process gets the
 * port by chance.
 */
export async function findSteadyPort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
