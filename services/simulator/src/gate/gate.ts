import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { readRegistration } from '../pairing/registration.js';
import { Session } from '../sessions/session.js';
import { dispatchStanza } from '../stanzas/dispatch-stanza.js';
import type { Client, Server } from '../stanzas/stanza-context.js';
import type { BinaryNode } from '../wire/nodes.js';
import { NEARBY, type Travel, WireConnection } from '../wire/wire-connection.js';
import { expirationNode, logIn } from './log-in.js';
import { ServerPings } from './server-pings.js';

export type Trace = (direction: 'in' | 'out', client: string, stanza: BinaryNode) => void;

/** Where clients come in: from the WebSocket to a session, and from then on every stanza to its handler. */
export class Gate {
  readonly #server: Server;
  readonly #trace: Trace | undefined;
  readonly #sockets = new Set<WebSocket>();
  readonly #sessions = new Set<Session>();
  readonly pings: ServerPings;

  constructor(server: Server, trace: Trace | undefined) {
    this.#server = server;
    this.#trace = trace;
    this.pings = new ServerPings(server.network, this.#sessions);
  }

  get sessions(): ReadonlySet<Session> {
    return this.#sessions;
  }

  accept(socket: WebSocket, stream: Duplex): void {
    const { counters, credentials, logger } = this.#server.network;
    counters.connections += 1;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    let session: Session | undefined;
    const trace = this.#trace;
    const wire: WireConnection = new WireConnection(
      socket,
      { credentials, stream, travel: () => this.#travelTo(session) },
      {
        onIdentity: (key, payload) => {
          session = new Session(this.#server.network, wire, key, payload);
          this.#admit(session);
        },
        onNode: (stanza) => session && this.#receive(session, stanza),
        onClose: () => session && this.#leave(session),
        onBroken: (error) => {
          counters.brokenConnections += 1;
          logger.warn('connection is cut', { client: nameOf(session), reason: String(error) });
        },
        ...(trace && { onTrace: (direction, stanza) => trace(direction, nameOf(session), stanza) }),
      },
    );
  }

  /** Cuts every connection, as a restart of the server would. Answers how many. */
  cutAll(): number {
    const count = this.#sockets.size;
    for (const session of this.#sessions) session.cut();
    for (const socket of this.#sockets) socket.terminate();
    return count;
  }

  #travelTo(session: Session | undefined): Travel {
    const { faults, settings } = this.#server.network;
    const { latencyMs } = settings;
    const device = session?.device;
    const fault = device && faults.strike('wire', { account: device.number, device: device.id });
    if (!fault) return latencyMs === 0 ? NEARBY : { delayMs: latencyMs };
    return { delayMs: latencyMs + faults.delayOf(fault), bytesPerSecond: fault.bytesPerSecond };
  }

  #admit(session: Session): void {
    this.#sessions.add(session);
    const oldest = this.#server.network.settings.minimumVersion;
    if (isOlder(versionOf(session), oldest)) return this.#refuseVersion(session);
    if (!session.payload.devicePairingData) return logIn(this.#server, session);
    const registration = readRegistration(session.payload, session.clientKey);
    if (registration) this.#server.pairing.start(session, registration);
    else session.refuse(400);
  }

  #refuseVersion(session: Session): void {
    const { logger, settings } = this.#server.network;
    const version = versionOf(session).join('.');
    logger.warn('client is too old', { version, oldest: settings.minimumVersion.join('.') });
    session.refuse(405);
  }

  /** Tells all clients that are logged in until when their version is let in. */
  announceExpiration(): void {
    const notice = expirationNode(this.#server.network.settings.clientExpirationMs);
    for (const session of this.#sessions) if (session.state === 'live') session.send(notice);
  }

  #receive(session: Session, stanza: BinaryNode): void {
    if (session.superseded) {
      this.#server.network.counters.stanzasFromOlderLogin += 1;
      return;
    }
    if (session.state === 'closed') return;
    const { device } = session;
    if (device) return this.#handle({ session, device }, stanza);
    if (stanza.tag === 'iq') this.#receiveFromStranger(session, stanza);
  }

  #handle(client: Client, stanza: BinaryNode): void {
    const start = performance.now();
    dispatchStanza(this.#server, client, stanza);
    this.#server.network.handling.note(stanza.tag, (performance.now() - start) / 1000);
  }

  /** Before it is linked a client may only link (and ping). */
  #receiveFromStranger(session: Session, query: BinaryNode): void {
    const { pairing } = this.#server;
    const { type, xmlns } = query.attrs;
    if (type === 'result') pairing.receiveSignature(session, query);
    else if (xmlns === 'md') pairing.receiveQuery(session, query);
    else if (xmlns === 'w:p') session.reply(query);
    else if (type !== 'error') session.replyError(query, 401, 'not-authorized');
  }

  #leave(session: Session): void {
    this.#sessions.delete(session);
    session.end();
    this.#server.pairing.forget(session);
  }
}

function nameOf(session: Session | undefined): string {
  const device = session?.device;
  return device ? `${device.number}:${device.id}` : 'unlinked';
}

function versionOf({ payload }: Session): number[] {
  const version = payload.userAgent?.appVersion;
  return [version?.primary ?? 0, version?.secondary ?? 0, version?.tertiary ?? 0];
}

function isOlder(version: readonly number[], oldest: readonly number[]): boolean {
  const differs = oldest.findIndex((part, index) => part !== version[index]);
  return differs >= 0 && (version[differs] ?? 0) < oldest[differs]!;
}
