import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { findSteadyPort } from './steady-port.js';

const LOCALHOST = '127.0.0.1';
const FIRST_ADDRESS = 11;

/** A node's place on the bus. It calls the others from an address of its own, which tells who it is. */
export interface BusPlace {
  address: string;
  /** Where others find it: the proxy. */
  port: number;
  settings: string[];
}

/**
 * The bus on which the nodes of a Cluster tell each other who is alive, with a proxy before each node: a node can be cut
 * off from the others, in both directions, while clients still reach it. Linux only, where all of 127.0.0.0/8 is local.
 */
export class ClusterBus {
  private joined = 0;
  private readonly servers: Server[] = [];
  private readonly links = new Set<{ ends: [string, string]; sockets: Socket[] }>();
  private readonly cutOff = new Set<string>();

  async join(): Promise<BusPlace> {
    const address = `127.0.0.${FIRST_ADDRESS + this.joined++}`;
    const busPort = await findSteadyPort();
    const server = createServer((near) => this.pass(near, address, busPort));
    this.servers.push(server);
    server.listen(0, LOCALHOST);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      ...{ address, port },
      settings: [
        ...['--cluster-port', String(busPort), '--cluster-announce-bus-port', String(port)],
        ...['--cluster-announce-ip', LOCALHOST, '--bind-source-addr', address],
      ],
    };
  }

  cut(address: string): void {
    this.cutOff.add(address);
    for (const { ends, sockets } of this.links) {
      if (ends.includes(address)) for (const socket of sockets) socket.destroy();
    }
  }

  heal(address: string): void {
    this.cutOff.delete(address);
  }

  close(): void {
    for (const server of this.servers) server.close();
    for (const { sockets } of this.links) for (const socket of sockets) socket.destroy();
  }

  private pass(near: Socket, to: string, busPort: number): void {
    near.on('error', () => {});
    const ends: [string, string] = [near.remoteAddress ?? '', to];
    if (ends.some((end) => this.cutOff.has(end))) return void near.destroy();
    const far = connect(busPort, LOCALHOST);
    far.on('error', () => {});
    const link = { ends, sockets: [near, far] };
    this.links.add(link);
    for (const [from, other] of [[near, far] as const, [far, near] as const]) {
      from.pipe(other);
      from.on('close', () => {
        other.destroy();
        this.links.delete(link);
      });
    }
  }
}
