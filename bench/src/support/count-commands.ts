import type { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { isCluster, masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { monitor } from '@gateway/testkit/redis-servers/monitor';
import type { RedisSpace } from '@gateway/testkit/redis-space';
import { Redis } from 'ioredis';

export interface CommandCounts {
  commands: number;
  /** Commands selected by `isApart`; not among `commands`. */
  apart: number;
}

/**
 * Counts the commands that the services send to Redis, by `MONITOR`: neither those that scripts call nor our own.
 * @param isApart is asked for each command with its arguments, and the name of the connection that it came by if it was open then.
 * @returns a function that answers with what came since it was asked last.
 */
export async function countCommands(
  lifecycle: Lifecycle,
  { url, clients }: Pick<RedisSpace, 'url' | 'clients'>,
  isApart: (command: readonly string[], connection: string) => boolean = () => false,
): Promise<() => CommandCounts> {
  const ownClients = Object.values(clients).filter(isClient).flatMap(masterNodes);
  const own = new Set(await Promise.all(ownClients.map(addressOf)));
  const connection = new Redis(url);
  own.add(await addressOf(connection));
  const names = await connectionNames(connection);
  let counts = { commands: 0, apart: 0 };
  const monitored = await monitor(connection, (command, source) => {
    if (source !== 'lua' && !own.has(source))
      counts[isApart(command, names.get(source) ?? '') ? 'apart' : 'commands'] += 1;
  });
  lifecycle.add('monitor', async () => {
    monitored.close();
    connection.disconnect();
  });
  return () => {
    const taken = counts;
    counts = { commands: 0, apart: 0 };
    return taken;
  };
}

function isClient(value: unknown): value is Redis {
  return value instanceof Redis || isCluster(value);
}

/** By their addresses. */
async function connectionNames(client: Redis): Promise<Map<string, string>> {
  const lines = String(await client.client('LIST')).split('\n');
  return new Map(lines.map((line) => [/ addr=(\S+)/.exec(line)?.[1] ?? '', / name=(\S*)/.exec(line)?.[1] ?? '']));
}

/** As `MONITOR` names who sent a command. */
async function addressOf(client: Redis): Promise<string> {
  const info = String(await client.client('INFO'));
  return / addr=(\S+)/.exec(info)![1]!;
}
