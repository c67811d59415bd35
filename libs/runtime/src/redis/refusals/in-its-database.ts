import { type Redis, ReplyError } from 'ioredis';

/**
 * Has a client be ready in its own database alone. Where Redis refuses that (it has none of this number, or the user may not select), ioredis
 * goes on in database 0, among the keys of others: this one leaves and tries again, as after a wrong password. So do copies of
 * it, as BullMQ makes of its own.
 */
export function inItsDatabase(client: Redis): Redis {
  const select = client.select.bind(client);
  const duplicate = client.duplicate.bind(client);
  return Object.assign(client, {
    select: async (database: number | string) => {
      try {
        return await select(database);
      } catch (error) {
        if (error instanceof ReplyError && client.status === 'connect') await leave(client);
        throw error;
      }
    },
    duplicate: (...override: Parameters<typeof duplicate>) => inItsDatabase(duplicate(...override)),
  });
}

/** Until then ioredis goes on with nothing: it would take the connection for ready. */
async function leave(client: Redis): Promise<void> {
  const closed = new Promise((resolve) => client.once('close', resolve));
  client.disconnect(true);
  await closed;
}
