import type { RequestListener } from 'node:http';
import { makeAdminRouter, type SimulatorInfo } from './admin/admin-routes.js';
import { refuse } from './admin/http-router.js';
import { announceDevices } from './announcements/announce-devices.js';
import { acceptUpgrades } from './gate/accept-upgrades.js';
import { Gate, type Trace } from './gate/gate.js';
import { handleMediaRequest } from './gate/media-door.js';
import { isMeantForUs, readUrl } from './http/guard-request.js';
import { listen } from './http/listen.js';
import { makeTlsIdentity } from './http/self-signed.js';
import { type Logger, silentLogger } from './logger.js';
import { loadState, saveState } from './messaging/network-state.js';
import { PostOffice } from './messaging/post-office.js';
import { saltOf } from './messaging/privacy-tokens.js';
import { makeNetwork, type Network, type NetworkSettings } from './network/network.js';
import { type Profile, RULES } from './network/rules.js';
import { StateFile } from './network/state-file.js';
import { PairingDesk } from './pairing/pairing-desk.js';

export interface SimulatorOptions {
  /** Which year's network it behaves as. Default 2026. */
  readonly profile?: Profile;
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
  /** Whether the first scan of a QR code asks for a second one. Default true in 2026, never in 2025. */
  readonly refreshAfterScan?: boolean;
  /** How long the verdict on a request for an 8-character code takes, and how long one can be typed (2026). Defaults 300 ms, 180 s. */
  readonly codeVerdictMs?: number;
  readonly codeLifeMs?: number;
  /** How long a status may stay unconfirmed before the stream ends over it (2026). Default 50 min 2 s. */
  readonly statusAckMs?: number;
  /** How often the server asks logged-in clients whether they are there. Default 0: never. */
  readonly serverPingMs?: number;
  /** What another simulator of the same seed answered to `saveState`: it goes on from there. */
  readonly state?: Buffer;
  /** Read at the start if it is there, and kept up to date from then on: who is killed loses a second at most. */
  readonly stateFile?: string;
  /** Called with every stanza in both directions. */
  readonly trace?: Trace;
}

export interface Simulator extends SimulatorInfo {
  readonly host: string;
  readonly port: number;
  /** The same things as over HTTP, without HTTP. */
  readonly network: Network;
  readonly office: PostOffice;
  readonly pairing: PairingDesk;
  /** What an account's tokens for strangers are made of: HMAC-SHA256(salt, "digits@lid"). Clients learn it from the first history. */
  saltOf(number: string): Buffer;
  /** Cuts every connection, as a restart of the server would. */
  restartSockets(): number;
  /** All that a restart of the server must not lose, for `options.state`. Uploaded files are not part of it. */
  saveState(): Buffer;
  close(): Promise<void>;
}

/** Starts a messenger network in this process. Several may run side by side. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0, tls = false, seed = 'simulator', logger = silentLogger } = options;
  const network = makeNetwork(seed, settingsOf(options), logger);
  const office = new PostOffice(network);
  const { stateFile: path } = options;
  const state = options.state ?? (path ? await StateFile.read(path) : undefined);
  if (state) loadState(network, office, state);
  const stateFile = path ? new StateFile(path, () => saveState(network, office), logger) : undefined;
  const pairing = new PairingDesk(network, (device) => {
    announceDevices(network, network.accounts.ensure(device.number), 'add', device);
    stateFile?.saveSoon();
  });
  const server = { network, office, pairing };
  const gate = new Gate(server, options.trace);
  gate.pings.every(network.settings.serverPingMs);
  const router = makeAdminRouter(server, gate, () => ({ ...info, savedAtMs: stateFile?.savedAtMs ?? null }));
  const handler: RequestListener = (request, response) => {
    const url = readUrl(request);
    if (!url) return refuse(response, 400, 'no such URL');
    if (handleMediaRequest(network, url, request, response)) return;
    if (!isMeantForUs(request, host)) return refuse(response, 403, 'ask by the address that the simulator listens on');
    void router.handle(url, request, response);
  };
  const identity = await makeTlsIdentity(host);
  const main = await listen(handler, { host, port, tls: tls ? identity : undefined });
  // Clients send media over HTTPS only, so a plain server has a second, encrypted door for it.
  const media = tls ? undefined : await listen(handler, { host, port: 0, tls: identity });
  const upgrades = acceptUpgrades(main.server, { network, gate, host });
  const info = infoOf(network, { host, port: main.port, tls, caPem: identity.cert });
  network.settings.pictureUrl = `${info.adminUrl}/pictures`;
  network.settings.mediaHost = `${host}:${(media ?? main).port}`;
  logger.info('network is up', { socketUrl: info.socketUrl });
  return {
    host,
    port: main.port,
    ...info,
    ...server,
    saltOf: (number) => saltOf(network, number),
    restartSockets: () => gate.cutAll(),
    saveState: () => saveState(network, office),
    close: async () => {
      gate.pings.every(0);
      gate.cutAll();
      await stateFile?.close();
      upgrades.close();
      await Promise.all([main.close(), media?.close()]);
    },
  };
}

function infoOf(network: Network, place: { host: string; port: number; tls: boolean; caPem: string }): SimulatorInfo {
  const { host, port, tls, caPem } = place;
  const secure = tls ? 's' : '';
  return {
    socketUrl: `ws${secure}://${host}:${port}/ws/chat`,
    adminUrl: `http${secure}://${host}:${port}`,
    rootPublicKeyHex: network.credentials.rootPublicKey.toString('hex'),
    caPem,
  };
}

function settingsOf(options: SimulatorOptions): NetworkSettings {
  const profile = options.profile ?? '2026';
  const rules = RULES[profile];
  return {
    profile,
    latencyMs: options.latencyMs ?? 0,
    decryptSample: options.decryptSample ?? 1,
    minimumVersion: options.minimumVersion ?? [],
    qrCodes: options.qrCodes ?? 6,
    firstQrMs: options.firstQrMs ?? 60_000,
    nextQrMs: options.nextQrMs ?? 20_000,
    refreshAfterScan: rules.retiresScannedCodes && (options.refreshAfterScan ?? true),
    codeVerdictMs: rules.judgesCodes ? (options.codeVerdictMs ?? 300) : 0,
    codeLifeMs: options.codeLifeMs ?? 180_000,
    statusAckMs: options.statusAckMs ?? 3_002_000,
    clientExpirationMs: null,
    serverPingMs: options.serverPingMs ?? 0,
    mediaHost: '',
    pictureUrl: '',
  };
}
