import { type Methods, serve } from './child.js';
import {
  linkStock,
  loadState,
  logInStock,
  type Network,
  type StockSocket,
  saveState,
  sendStock,
} from './stock-client.js';

/** Stock Baileys clients in a process of their own: the baseline of what a device does. */
const methods = {
  /** Links clients one after the other. Answers with their states, for `logIn` in another process. */
  link: async ({ network, numbers }: { network: Network; numbers: string[] }): Promise<string[]> => {
    const states: string[] = [];
    for (const number of numbers) {
      const { socket, state } = await linkStock(network, number);
      sockets.push(socket);
      states.push(saveState(state));
    }
    return states;
  },
  logIn: async ({ network, states }: { network: Network; states: string[] }): Promise<void> => {
    for (const state of states) sockets.push(await logInStock(network, loadState(state)));
  },
  /** With the first client. Answers with the ms until the last ack. */
  send: (list: { numbers: string[]; text: string; inFlight: number }): Promise<number> => sendStock(sockets[0]!, list),
} satisfies Methods;

export type StockMethods = typeof methods;

const sockets: StockSocket[] = [];
// The library's Signal code prints whole sessions whenever it closes one.
Object.assign(console, { info: () => {}, warn: () => {}, error: () => {}, log: () => {} });
serve(methods);
