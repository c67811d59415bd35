import { type Simulator, type SimulatorOptions, startSimulator } from '@gateway/simulator/start-simulator';
import { muteSignalLibrary } from './mute-signal-library.js';
import { connect, type Linked, linkByQr, logIn, type StockState } from './stock-client.js';

/** A simulator for one test file: started before, closed after, with the clients that were opened on it. */
export interface Fixture {
  simulator: Simulator;
  link(config?: Parameters<typeof linkByQr>[1], number?: string): Promise<Linked>;
  logIn(state: StockState, config?: Parameters<typeof logIn>[2]): Promise<Linked>;
  connect(...args: Tail<Parameters<typeof connect>>): ReturnType<typeof connect>;
  admin(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
}

type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

export function useSimulator(options: SimulatorOptions = {}): Fixture {
  const clients: { socket: Linked['socket'] }[] = [];
  const keep = <T extends { socket: Linked['socket'] }>(client: T): T => {
    clients.push(client);
    return client;
  };
  const fixture: Fixture = {
    simulator: undefined as unknown as Simulator,
    link: async (config, number) => keep(await linkByQr(fixture.simulator, config, number)),
    logIn: async (state, config) => keep(await logIn(fixture.simulator, state, config)),
    connect: (...args) => keep(connect(fixture.simulator, ...args)),
    admin: async (method, path, body) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(`${fixture.simulator.adminUrl}${path}`, {
        method,
        ...(body !== undefined && { body: text }),
      });
      return { status: response.status, body: await response.json() };
    },
  };
  muteSignalLibrary();
  before(async () => {
    fixture.simulator = await startSimulator({ profile: '2025', ...options });
  });
  after(async () => {
    for (const { socket } of clients) await socket.end(undefined).catch(() => {});
    await fixture.simulator.close();
  });
  return fixture;
}
