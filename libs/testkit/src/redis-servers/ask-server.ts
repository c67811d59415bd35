import { Redis } from 'ioredis';

const TIMEOUT_MS = 2_000;

/** One command on a connection of its own, to this very server: it fails at once where nothing answers. */
export async function askServer(url: string, command: string, ...args: (string | number)[]): Promise<unknown> {
  const client = new Redis(url, {
    ...{ maxRetriesPerRequest: 0, retryStrategy: () => null, lazyConnect: true },
    ...{ connectTimeout: TIMEOUT_MS, commandTimeout: TIMEOUT_MS },
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}
