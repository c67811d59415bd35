import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { WebSocketServer } from 'ws';
import { makeAdminRouter } from './admin/admin-routes.js';
import { Gate, type Trace } from './gate/gate.js';
import { type Logger, silentLogger } from './logger.js';
import { announceDevices } from './messaging/announce-devices.js';
import { PostOffice } from './messaging/post-office.js';
import { makeNetwork, type Network, type NetworkSettings } from './network/network.js';
import { PairingDesk } from './pairing/pairing-desk.js';

export interface SimulatorOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** wss and https with a certificate of its own making. Default false. */
  readonly tls?: boolean;
  /** Identities, number mappings and probabilities come from it. Default `simulator`. */
  readonly seed?: string;
  readonly logger?: Logger;
  /** Share of the phones that really decrypt, 0 to 1. Default 1; less is for benchmarks. */
  readonly decryptSample?: number;
  /** Round trip that every client sees. Default 0. */
  readonly latencyMs?: number;
  /** Oldest client version let in, e.g. [2, 3000, 0]; older ones are refused with 405. Default: all. */
  readonly minimumVersion?: readonly number[];
  /** QR codes per linking attempt, and how long the first and the later ones live. Defaults 6, 60 s, 20 s. */
  readonly qrCodes?: number;
  readonly firstQrMs?: number;
  readonly nextQrMs?: number;
  /** Called with every stanza in both directions. */
  readonly trace?: Trace;
}

export interface Simulator {
  readonly host: string;
  readonly port: number;
  /** What clients connect to: `waWebSocketUrl`. */
  readonly socketUrl: string;
  readonly adminUrl: string;
  /** Root of the certificate chain, 32 bytes. */
  readonly rootPublicKeyHex: string;
  /** The same things as over HTTP, without HTTP. */
  readonly network: Network;
  readonly office: PostOffice;
  readonly pairing: PairingDesk;
  /** Cuts every connection, as a restart of the server would. */
  restartSockets(): number;
  close(): Promise<void>;
}

/** Starts a messenger network in this process. Several may run side by side. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0, tls = false, seed = 'simulator', logger = silentLogger } = options;
  const network = makeNetwork(seed, settingsOf(options), logger);
  const office = new PostOffice(network);
  const pairing = new PairingDesk(network, (device) => {
    announceDevices(network, network.accounts.ensure(device.number), 'add', device);
  });
  const server = { network, office, pairing };
  const gate = new Gate(server, options.trace);
  const info = () => ({ socketUrl: urlOf('ws'), adminUrl: urlOf('http'), rootPublicKeyHex });
  const router = makeAdminRouter(server, gate, info);
  const http = await makeHttpServer(tls, (request, response) => void router.handle(request, response));
  const sockets = new WebSocketServer({ server: http, path: '/ws/chat', perMessageDeflate: false });
  sockets.on('connection', (socket) => gate.accept(socket));
  await new Promise<void>((resolve, reject) => http.once('error', reject).listen(port, host, resolve));
  const { port: openPort } = http.address() as AddressInfo;
  const urlOf = (scheme: 'ws' | 'http') =>
    `${scheme}${tls ? 's' : ''}://${host}:${openPort}${scheme === 'ws' ? '/ws/chat' : ''}`;
  const rootPublicKeyHex = network.credentials.rootPublicKey.toString('hex');
  network.settings.pictureUrl = `${urlOf('http')}/pictures`;
  network.settings.mediaHost = `${host}:${openPort}`;
  logger.info('network is up', info());
  return {
    host,
    port: openPort,
    ...info(),
    network,
    office,
    pairing,
    restartSockets: () => gate.cutAll(),
    close: async () => {
      gate.cutAll();
      sockets.close();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

function settingsOf(options: SimulatorOptions): NetworkSettings {
  return {
    latencyMs: options.latencyMs ?? 0,
    decryptSample: options.decryptSample ?? 1,
    minimumVersion: options.minimumVersion ?? [],
    qrCodes: options.qrCodes ?? 6,
    firstQrMs: options.firstQrMs ?? 60_000,
    nextQrMs: options.nextQrMs ?? 20_000,
    mediaHost: '',
    pictureUrl: '',
  };
}

async function makeHttpServer(tls: boolean, handler: (request: IncomingMessage, response: ServerResponse) => void) {
  if (!tls) return createHttpServer(handler);
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 });
  return createHttpsServer({ cert, key }, handler);
}
