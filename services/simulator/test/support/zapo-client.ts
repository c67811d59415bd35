import type { Simulator } from '@gateway/simulator/start-simulator';
import { WebSocket } from 'ws';

interface ZapoAck {
  readonly ack: { readonly error?: number };
}

/** What these tests use of the client; it is loaded by name, so that the build does not need it. */
interface ZapoClient {
  on(event: 'auth_qr', listener: (event: { qr: string }) => void): void;
  on(event: 'message', listener: (event: ZapoMessage) => void): void;
  on(event: 'client_error', listener: (event: { error: Error }) => void): void;
  on(event: 'connection', listener: (event: { status: string; isLogout: boolean }) => void): void;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  logout(): Promise<void>;
  requestPairingCode(number: string): Promise<string>;
  sendMessage(to: string, text: string): Promise<ZapoAck>;
  readonly group: {
    createGroup(subject: string, people: readonly string[]): Promise<{ content: { attrs: { id: string } }[] }>;
  };
}

interface ZapoMessage {
  readonly chatJid?: string;
  readonly message?: { readonly conversation?: string | null };
}

interface Zapo {
  createStore(options: object): object;
  readonly WaClient: new (options: object, logger: object) => ZapoClient;
}

export interface RunningZapo {
  readonly client: ZapoClient;
  /** The texts that it showed. */
  readonly texts: string[];
  readonly errors: Error[];
}

/** The npm client `zapo-js`, which was written elsewhere: told where the server is and which root to trust, nothing else. */
export async function startZapo(simulator: Simulator, onQr: (qr: string) => void = () => {}): Promise<RunningZapo> {
  // It takes the socket of browsers, which Node 20 does not have.
  globalThis.WebSocket ??= WebSocket as unknown as typeof globalThis.WebSocket;
  const { WaClient, createStore }: Zapo = await import(import.meta.resolve('zapo-js'));
  let credentials: object | null = null;
  const auth = {
    load: async () => credentials,
    save: async (given: object) => {
      credentials = given;
    },
    clear: async () => {
      credentials = null;
    },
  };
  const backends = { own: { stores: { auth: () => auth }, caches: {} } };
  const place = { chatSocketUrls: [simulator.socketUrl], sessionId: 'test', history: { enabled: true } };
  const noiseRootCa = { publicKey: Buffer.from(simulator.rootPublicKeyHex, 'hex'), serial: 0 };
  const store = createStore({ backends, providers: { auth: 'own' } });
  const client = new WaClient({ ...place, store, testHooks: { noiseRootCa } }, silent);
  const [texts, errors]: [string[], Error[]] = [[], []];
  client.on('auth_qr', ({ qr }) => onQr(qr));
  client.on('message', ({ message }) => message?.conversation && texts.push(message.conversation));
  client.on('client_error', ({ error }) => errors.push(error));
  await client.connect();
  return { client, texts, errors };
}

const ignore = () => {};
const silent = {
  level: 'error',
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silent,
};
