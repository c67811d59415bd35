import makeWASocket, {
  type AuthenticationCreds,
  BufferJSON,
  generateMessageIDV2,
  initAuthCreds,
  type SignalDataSet,
  type SignalDataTypeMap,
} from '@whiskeysockets/baileys';
import pino from 'pino';

/** Where a stock client connects to. */
export interface Network {
  socketUrl: string;
  adminUrl: string;
}

export type StockSocket = ReturnType<typeof makeWASocket>;

/** A stock client's whole state, keys included: in memory, as the baseline has it. */
export interface StockState {
  creds: AuthenticationCreds;
  keys: Map<string, unknown>;
}

export function saveState({ creds, keys }: StockState): string {
  return JSON.stringify({ creds, keys: [...keys] }, BufferJSON.replacer);
}

export function loadState(text: string): StockState {
  const { creds, keys } = JSON.parse(text, BufferJSON.reviver);
  return { creds, keys: new Map(keys) };
}

/** Links an unmodified Baileys client by QR code to the account of `number`, and waits until it is open. */
export async function linkStock(network: Network, number: string): Promise<{ socket: StockSocket; state: StockState }> {
  const state = { creds: initAuthCreds(), keys: new Map<string, unknown>() };
  const linking = connect(network, state, (qr) => {
    void fetch(`${network.adminUrl}/admin/mock-phone/scan-qr?number=${number}`, { method: 'POST', body: qr });
  });
  await linking.closed;
  return { socket: await logInStock(network, state), state };
}

/** Connects a client that is linked already. */
export async function logInStock(network: Network, state: StockState): Promise<StockSocket> {
  const { socket, opened, closed } = connect(network, state, () => {});
  await Promise.race([opened, closed.then((code) => Promise.reject(new Error(`login ended with ${code}`)))]);
  return socket;
}

/** Nothing is set but where the server is, where the keys are, and a silent log. */
function connect({ socketUrl }: Network, { creds, keys }: StockState, onQr: (qr: string) => void) {
  const socket = makeWASocket({
    auth: { creds, keys: memoryKeys(keys) },
    waWebSocketUrl: socketUrl,
    logger: pino({ level: 'silent' }),
  });
  socket.ev.on('creds.update', (update) => Object.assign(creds, update));
  const closed = new Promise<number | undefined>((resolve) => {
    socket.ev.on('connection.update', ({ connection, lastDisconnect }) => {
      const error = lastDisconnect?.error as { output?: { statusCode?: number } } | undefined;
      if (connection === 'close') resolve(error?.output?.statusCode);
    });
  });
  const opened = new Promise<void>((resolve) => {
    socket.ev.on('connection.update', ({ connection, qr }) => {
      if (qr) onQr(qr);
      if (connection === 'open') resolve();
    });
  });
  return { socket, opened, closed };
}

function memoryKeys(data: Map<string, unknown>) {
  return {
    get: async <Type extends keyof SignalDataTypeMap>(type: Type, ids: string[]) => {
      const found: { [id: string]: SignalDataTypeMap[Type] } = {};
      for (const id of ids) {
        const value = data.get(`${type}/${id}`);
        if (value !== undefined) found[id] = value as SignalDataTypeMap[Type];
      }
      return found;
    },
    set: async (changes: SignalDataSet) => {
      for (const [type, entries] of Object.entries(changes)) {
        for (const [id, value] of Object.entries(entries ?? {})) {
          if (value === null || value === undefined) data.delete(`${type}/${id}`);
          else data.set(`${type}/${id}`, value);
        }
      }
    },
  };
}

/** Sends to each number and awaits its ack, `inFlight` at a time. Answers with the ms that it took. */
export async function sendStock(
  socket: StockSocket,
  { numbers, text, inFlight }: { numbers: readonly string[]; text: string; inFlight: number },
): Promise<number> {
  const waiting = new Map<string, () => void>();
  const onAck = ({ attrs }: { attrs: { id?: string } }) => waiting.get(attrs.id ?? '')?.();
  socket.ws.on('CB:ack,class:message', onAck);
  const startedMs = performance.now();
  const left = numbers.values();
  const sendInTurn = async () => {
    for (const number of left) {
      const messageId = generateMessageIDV2(socket.user?.id);
      const acked = new Promise<void>((resolve) => waiting.set(messageId, resolve));
      await socket.sendMessage(`${number}@s.whatsapp.net`, { text }, { messageId });
      await acked;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, sendInTurn));
  socket.ws.off('CB:ack,class:message', onAck);
  return performance.now() - startedMs;
}
