import type { Network } from '../network/network.js';
import type { Session } from '../sessions/session.js';
import { node, SERVER, stamp } from '../wire/nodes.js';

/** Asks every logged-in client in turns whether it is still there. The connection of one that did not answer ends. */
export class ServerPings {
  readonly #network: Network;
  readonly #sessions: ReadonlySet<Session>;
  #timer: NodeJS.Timeout | undefined;
  #round = 0;

  constructor(network: Network, sessions: ReadonlySet<Session>) {
    this.#network = network;
    this.#sessions = sessions;
  }

  /** 0 ends them. */
  every(intervalMs: number): void {
    clearInterval(this.#timer);
    this.#timer = intervalMs > 0 ? setInterval(() => this.#ping(), intervalMs).unref() : undefined;
    for (const session of this.#sessions) session.awaitsPong = false;
  }

  #ping(): void {
    this.#round += 1;
    // The real server leaves out `type` now and then, and never gives an id.
    const type = this.#round % 2 === 0 ? undefined : 'get';
    const attrs = { from: SERVER, type, xmlns: 'urn:xmpp:ping', t: stamp(this.#network.now()) };
    for (const session of [...this.#sessions].filter(({ state }) => state === 'live')) {
      if (session.awaitsPong) {
        this.#network.counters.missedPongs += 1;
        session.close();
        continue;
      }
      session.awaitsPong = true;
      session.send(node('iq', attrs));
    }
  }
}
