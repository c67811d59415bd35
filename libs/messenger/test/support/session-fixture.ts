import type { ReadyContent } from '@gateway/contracts/content/message-content';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import type { Receipt } from '@gateway/messenger/inbound/read-receipt';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { type OpenSessionOptions, openSession } from '@gateway/messenger/session/open-session';
import type {
  Account,
  EndCircumstances,
  IncomingMessage,
  KnownPerson,
  LateRefusal,
  LinkingCode,
  SessionEvent,
} from '@gateway/messenger/session/session-events';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import type { FaultAction, FaultPoint } from '@gateway/simulator/faults/fault-book';
import { type Simulator, type SimulatorOptions, startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { scanCodes } from '@gateway/testkit/scan-codes';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { MemoryKeyStore } from './memory-key-store.js';

/** Of each kind of event that tests look at, what it tells. */
interface Values {
  code: LinkingCode;
  linked: Account;
  open: Account;
  renamed: string;
  receipt: Receipt;
  message: IncomingMessage;
  lateRefusal: LateRefusal;
  restrictionNews: undefined;
  numbersKnown: readonly KnownPerson[];
  closed: DisconnectOutcome;
}
type EventName = keyof Values;
/** They come at any time, and a test that wants them has a handler. */
const UNREPORTED: ReadonlySet<string> = new Set([
  'restrictionNews',
  'numbersKnown',
  'lookUpsForgotten',
  'retryAnswered',
  'versionDeadline',
]);
/** Everything else a session reported, in order. */
export type Report = { [Name in EventName]: { event: Name; value: Values[Name] } }[EventName];
type Handlers = { [Name in EventName]?: (value: Values[Name]) => void | Promise<void> };

export interface TestSession {
  session: MessengerSession;
  reports: Report[];
  options: OpenSessionOptions;
  keyStore: MemoryKeyStore;
  /** Called instead of the report of an event. */
  handlers: Handlers;
  /** Of its end. */
  circumstances: EndCircumstances;
  /** Waits for the first report of that name. */
  next<Name extends EventName>(event: Name): Promise<Values[Name]>;
}

export interface ShownMessage {
  id: string;
  from: string;
  text: string | null;
  shown: number;
  arrivals: number;
}

export interface Device {
  keyStore: MemoryKeyStore;
  phone: string;
}

const ignore = () => {};

/** A simulator and the sessions of one test file: all ended when it is done. */
export function useSessions(simulatorOptions: SimulatorOptions = {}) {
  const opened: TestSession[] = [];
  let simulator: Simulator;
  before(async () => {
    simulator = await startSimulator(simulatorOptions);
  });
  after(async () => {
    await Promise.all(opened.map(({ session }) => session.close()));
    await simulator.close();
  });

  async function open(keyStore: MemoryKeyStore, changes: Partial<OpenSessionOptions> = {}): Promise<TestSession> {
    const test = await openTestSession(simulator, keyStore, changes);
    opened.push(test);
    return test;
  }

  async function admin<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${simulator.adminUrl}/admin/${path}`, {
      method,
      ...(body !== undefined && { body: text, headers: { 'content-type': 'text/plain' } }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Body;
  }

  /** Scans the code that a session shows, and the one that it shows next when the network wants that. */
  async function scan(test: TestSession, number?: string, addressing?: 'lid' | 'pn'): Promise<void> {
    const { value } = await test.next('code');
    const nextCode = (before: string) => eventually(() => codesOf(test).find((code) => code !== before) ?? false);
    const phone = { ...(number !== undefined && { number }), ...(addressing && { addressing }) };
    await scanCodes({ adminUrl: simulator.adminUrl, nextCode, ...phone }, value);
  }

  /** Links a device by QR, of a new phone or of that number, and ends the linking session. */
  async function link(number?: string, addressing?: 'lid' | 'pn'): Promise<Device> {
    const keyStore = new MemoryKeyStore();
    const test = await open(keyStore, { link: { method: 'qr' } });
    await scan(test, number, addressing);
    const { phone } = await test.next('linked');
    await test.next('closed');
    return { keyStore, phone };
  }

  /** With its history: from then on the account may write to strangers. */
  async function openLinked(changes: Partial<OpenSessionOptions> = {}): Promise<TestSession & { phone: string }> {
    const { keyStore, phone } = await link();
    const test = await open(keyStore, changes);
    await test.next('open');
    await test.session.historyTaken;
    return { ...test, phone };
  }

  /** What a phone shows, in order of arrival. */
  function messagesOf(phone: string): Promise<ShownMessage[]> {
    return admin('GET', `phones/${phone}/messages`);
  }

  /** Makes the network misbehave until the end of the test. */
  function fault(on: FaultPoint, action: FaultAction, { count = 1, match = {} } = {}): void {
    simulator.network.faults.add({ on, do: action, match, count });
  }
  afterEach(() => simulator.network.faults.clear());

  return {
    open,
    admin,
    scan,
    link,
    openLinked,
    messagesOf,
    fault,
    get simulator() {
      return simulator;
    },
  };
}

async function openTestSession(
  simulator: Simulator,
  keyStore: MemoryKeyStore,
  changes: Partial<OpenSessionOptions>,
): Promise<TestSession> {
  const reports: Report[] = [];
  const circumstances: EndCircumstances = {};
  const handlers: Handlers = {};
  const onEvent = ({ kind, ...told }: SessionEvent): void | Promise<void> => {
    const [value] = Object.values(told);
    if (kind in handlers) return handlers[kind as EventName]!(value as never);
    if (!UNREPORTED.has(kind)) reports.push({ event: kind, value } as Report);
    if ('circumstances' in told) Object.assign(circumstances, told.circumstances);
  };
  const options: OpenSessionOptions = {
    keyStore,
    caches: createSessionCaches(),
    endpoint: {
      url: simulator.socketUrl,
      trust: { kind: 'root', publicKey: Buffer.from(simulator.rootPublicKeyHex, 'hex') },
    },
    logger: silentLogger,
    getMessage: async (): Promise<ReadyContent | undefined> => undefined,
    assertMayWrite: ignore,
    ackTimeoutMs: 2_000,
    onEvent,
    ...changes,
  };
  return {
    session: await openSession(options),
    reports,
    handlers,
    circumstances,
    options,
    keyStore,
    next: (event) =>
      eventually(() => reports.find((report) => report.event === event)?.value, { what: event }) as never,
  };
}

function codesOf({ reports }: TestSession): string[] {
  return reports.flatMap((report) => (report.event === 'code' ? [report.value.value] : []));
}

let lastId = 0;
/** An id as the gateway makes them. */
export function makePlatformId(): string {
  lastId += 1;
  return `3EB0${lastId.toString(16).toUpperCase().padStart(18, '0')}`;
}

/** Numbers of people to whom no other test of this run writes. */
export function makeNumbers(count: number): string[] {
  return Array.from({ length: count }, () => {
    lastNumber += 1;
    return String(lastNumber);
  });
}
let lastNumber = 49_170_000_0000 + Math.floor(Math.random() * 1_000_000) * 100;
