import { Session } from '@gateway/simulator/sessions/session';
import type { Simulator } from '@gateway/simulator/start-simulator';
import { node, SERVER } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import type { RedisSpace } from '@gateway/testkit/redis-space';

/** A confirmation that waits for nothing needs one of each: to write the step of the ratchet, and to be read. */
const ROUNDS = 3;

/** Round trips on the connections of an account's device, to the network and to Redis: what is under way has arrived by then. */
export async function makeRoundTrips(space: RedisSpace, simulator: Simulator, account: string): Promise<void> {
  const [device] = simulator.network.accounts.ensure(account).devices.values();
  for (let round = 0; round < ROUNDS; round++) {
    const session = device?.connection;
    if (!(session instanceof Session)) throw new Error(`${account} is not logged in`);
    session.awaitsPong = true;
    session.send(node('iq', { from: SERVER, type: 'get', xmlns: 'urn:xmpp:ping' }));
    await eventually(() => !session.awaitsPong, { everyMs: 1 });
    await space.store.redis.ping();
  }
}
