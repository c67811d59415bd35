import { randomBytes } from 'node:crypto';
import type { Simulator } from '@gateway/simulator/start-simulator';
import makeWASocket, {
  type AuthenticationCreds,
  initAuthCreds,
  type SignalDataSet,
  type SignalDataTypeMap,
  type UserFacingSocketConfig,
  WA_CERT_DETAILS,
} from '@whiskeysockets/baileys';
import pino from 'pino';

/** Where a simulator is, in this process or in another. */
type Place = Pick<Simulator, 'socketUrl' | 'adminUrl' | 'rootPublicKeyHex'>;

export type StockSocket = ReturnType<typeof makeWASocket>;

/** What stays between two connections of one client. */
export interface StockState {
  readonly creds: AuthenticationCreds;
  readonly keys: MemoryKeys;
}

export class MemoryKeys {
  #data = new Map<string, unknown>();

  get = async <T extends keyof SignalDataTypeMap>(
    type: T,
    ids: string[],
  ): Promise<Record<string, SignalDataTypeMap[T]>> => {
    const found: Record<string, SignalDataTypeMap[T]> = {};
    for (const id of ids) {
      const value = this.#data.get(`${type}/${id}`);
      if (value !== undefined) found[id] = value as SignalDataTypeMap[T];
    }
    return found;
  };

  set = async (data: SignalDataSet): Promise<void> => {
    for (const [type, entries] of Object.entries(data)) {
      for (const [id, value] of Object.entries(entries ?? {})) {
        if (value === null || value === undefined) this.#data.delete(`${type}/${id}`);
        else this.#data.set(`${type}/${id}`, value);
      }
    }
  };

  /** A copy, to go back to later as a client does whose disk lost its last writes. */
  snapshot(): () => void {
    const kept = structuredClone(this.#data);
    return () => {
      this.#data = structuredClone(kept);
    };
  }
}

export function newState(): StockState {
  return { creds: initAuthCreds(), keys: new MemoryKeys() };
}

/** How one connection went: until it was open, or until it closed with a code. */
export type Outcome = { open: true } | { open: false; code: number | undefined };

export interface Attempt {
  readonly socket: StockSocket;
  readonly outcome: Promise<Outcome>;
  /** Settles when the connection is closed, with the code of the disconnect. */
  readonly closed: Promise<number | undefined>;
}

type Config = Partial<UserFacingSocketConfig>;

/** One connection of an unmodified Baileys socket: nothing set but where the server is. */
export function connect(
  simulator: Place,
  state: StockState,
  config: Config = {},
  onQr?: (qr: string) => void,
): Attempt {
  // Stock clients take any certificate. Beside libs/messenger, in one test process, signatures are really verified.
  WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(simulator.rootPublicKeyHex, 'hex');
  const socket = makeWASocket({
    auth: { creds: state.creds, keys: state.keys },
    waWebSocketUrl: simulator.socketUrl,
    logger: pino({ level: 'silent' }),
    ...config,
  });
  socket.ev.on('creds.update', (update) => Object.assign(state.creds, update));
  const closed = new Promise<number | undefined>((resolve) => {
    socket.ev.on('connection.update', ({ connection, lastDisconnect }) => {
      const error = lastDisconnect?.error as { output?: { statusCode?: number } } | undefined;
      if (connection === 'close') resolve(error?.output?.statusCode);
    });
  });
  const opened = new Promise<Outcome>((resolve) => {
    socket.ev.on('connection.update', ({ connection, qr }) => {
      if (qr) onQr?.(qr);
      if (connection === 'open') resolve({ open: true });
    });
  });
  const outcome = Promise.race([opened, closed.then((code): Outcome => ({ open: false, code }))]);
  return { socket, outcome, closed };
}

export interface Linked {
  readonly socket: StockSocket;
  readonly closed: Promise<number | undefined>;
  readonly state: StockState;
  readonly number: string;
  /** The account's jid without the device. */
  readonly jid: string;
}

/**
 * Since 2026 the network retires the secret of a code when it is scanned. A stock client goes on showing it, and never
 * links; this makes a client choose another and show the same code with it, as an up-to-date one would.
 */
export function renewSecret(
  { socket }: Pick<Attempt, 'socket'>,
  { creds }: Pick<StockState, 'creds'>,
  onQr: (qr: string) => void,
): void {
  let shown = '';
  socket.ev.on('connection.update', ({ qr }) => {
    if (!qr) return;
    const [ref, noiseKey, identity, , ...rest] = qr.split(',');
    shown = [ref, noiseKey, identity, creds.advSecretKey, ...rest].join(',');
    onQr(shown);
  });
  socket.ws.on('CB:notification,type:companion_reg_refresh', () => {
    const retired = creds.advSecretKey;
    creds.advSecretKey = randomBytes(32).toString('base64');
    shown = shown.replace(retired, () => creds.advSecretKey);
    onQr(shown);
  });
}

/** Links a new client by QR, follows the restart, and waits until it is open. */
export async function linkByQr(simulator: Place, config: Config = {}, number?: string): Promise<Linked> {
  const state = newState();
  const query = number ? `?number=${number}` : '';
  const scan = (qr: string) => {
    void fetch(`${simulator.adminUrl}/admin/mock-phone/scan-qr${query}`, { method: 'POST', body: qr });
  };
  const first = connect(simulator, state, config);
  renewSecret(first, state, scan);
  const outcome = await first.outcome;
  if (outcome.open || outcome.code !== 515) throw new Error(`linking ended with ${JSON.stringify(outcome)}`);
  return logIn(simulator, state, config);
}

/** Connects a client that is linked already and waits until it is open. */
export async function logIn(simulator: Place, state: StockState, config: Config = {}): Promise<Linked> {
  const { socket, outcome, closed } = connect(simulator, state, config);
  const result = await outcome;
  if (!result.open) throw new Error(`login ended with ${result.code}`);
  const number = state.creds.me!.id.split(':')[0]!;
  return { socket, closed, state, number, jid: `${number}@s.whatsapp.net` };
}
