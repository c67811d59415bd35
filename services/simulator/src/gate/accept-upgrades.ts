import type { Server as HttpServer } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { isFromClient, readUrl } from '../http/guard-request.js';
import type { Network } from '../network/network.js';
import type { Gate } from './gate.js';

const PATH = '/ws/chat';

/** Turns requests for a WebSocket into clients of the gate - unless a fault keeps silent or answers with an HTTP error. */
export function acceptUpgrades(
  http: HttpServer,
  { network, gate, host }: { network: Network; gate: Gate /** That it listens on. */; host: string },
): { close(): void } {
  const webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const unanswered = new Set<Duplex>();
  http.on('upgrade', (request, socket, head) => {
    // A client that hangs up before it has its answer.
    socket.on('error', () => socket.destroy());
    const url = readUrl(request);
    if (url?.pathname !== PATH) return refuse(socket, url ? 404 : 400);
    if (!isFromClient(request, host)) return refuse(socket, 403);
    const fault = network.faults.strike('connect', {});
    if (fault?.error) return refuse(socket, fault.error);
    if (fault?.silent) return hold(socket, unanswered);
    const admit = () => {
      unanswered.delete(socket);
      webSockets.handleUpgrade(request, socket, head, (client) => gate.accept(client, socket));
    };
    const delayMs = fault ? network.faults.delayOf(fault) : 0;
    if (delayMs === 0) return admit();
    hold(socket, unanswered);
    setTimeout(admit, delayMs).unref();
  });
  return {
    close: () => {
      for (const socket of unanswered) socket.destroy();
      webSockets.close();
    },
  };
}

function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function hold(socket: Duplex, unanswered: Set<Duplex>): void {
  unanswered.add(socket);
  socket.on('close', () => unanswered.delete(socket));
}
