import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export const LOCALHOST = '127.0.0.1';
const FIRST_ADDRESS = 11;

interface Link {
  from: string;
  to: { host: string; port: number };
  near: Socket;
  /** None before the call has passed. */
  far?: Socket;
  isSilent?: true;
}

/**
 * A network with a proxy before each port of those who live in it: some of them can be cut off from the others, in both directions,
 * while clients still reach all, unless they are cut off with them. What is sent across meanwhile arrives once that is healed, as TCP
 * sends it again. Who watches calls a server at its own address, which is always reached. Linux only, where all of 127.0.0.0/8 is local.
 */
export class CuttableNetwork {
  private addresses = 0;
  private readonly servers: Server[] = [];
  private readonly links = new Set<Link>();
  /** Of each address that is cut off: those on one island reach each other. */
  private readonly islands = new Map<string, object>();

  /** One to listen at, and to call from, which tells who calls. */
  newAddress(): string {
    return `127.0.0.${FIRST_ADDRESS + this.addresses++}`;
  }

  /** Who listens there is found at the same port of this machine. */
  async open(host: string, port: number): Promise<void> {
    const take = (near: Socket) => this.take({ from: near.remoteAddress!, to: { host, port }, near });
    const server = createServer({ noDelay: true }, take);
    this.servers.push(server);
    server.listen(port, LOCALHOST);
    await once(server, 'listening');
  }

  /** From all others. `LOCALHOST` among them: clients are cut off as well, and reach these alone. Returns what heals it. */
  cutOff(addresses: readonly string[]): () => void {
    const island = {};
    for (const address of addresses) this.islands.set(address, island);
    for (const link of this.links) if (this.isCut(link)) hold(link);
    return () => {
      for (const address of addresses) this.islands.delete(address);
      for (const link of this.links) if (!this.isCut(link)) this.pass(link);
    };
  }

  /** Calls of clients to these stay, and nothing passes any more, as where something in between has forgotten them. New ones pass. */
  silence(addresses: readonly string[]): void {
    for (const link of this.links) {
      if (link.from !== LOCALHOST || !addresses.includes(link.to.host)) continue;
      link.isSilent = true;
      hold(link);
    }
  }

  close(): void {
    for (const server of this.servers) server.close();
    for (const { near, far } of this.links) for (const socket of [near, far]) socket?.destroy();
  }

  private take(link: Link): void {
    this.links.add(link);
    this.watch(link, link.near);
    if (!this.isCut(link)) this.pass(link);
  }

  private pass(link: Link): void {
    const { near } = link;
    if (near.destroyed || link.far?.destroyed) return void this.end(link);
    link.far ??= this.watch(link, connect({ ...link.to, noDelay: true }));
    const { far } = link;
    hold(link);
    near.pipe(far);
    far.pipe(near);
  }

  /** That one end has closed is not known at the other one before the cut is healed. */
  private watch(link: Link, socket: Socket): Socket {
    socket.on('error', () => {});
    return socket.on('close', () => this.isCut(link) || this.end(link));
  }

  private end(link: Link): void {
    this.links.delete(link);
    for (const socket of [link.near, link.far]) socket?.destroy();
  }

  /** Clients live elsewhere, and reach all but while they are on an island. */
  private isCut({ from, to, isSilent }: Link): boolean {
    if (isSilent) return true;
    const reachesAll = from === LOCALHOST && !this.islands.has(LOCALHOST);
    return !reachesAll && this.islands.get(from) !== this.islands.get(to.host);
  }
}

function hold({ near, far }: Link): void {
  if (!far) return;
  near.unpipe(far);
  far.unpipe(near);
}
