import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { type MemoryBound, makeMemoryBound } from '@gateway/testkit/attacks/memory-bound';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { standIn } from '@gateway/testkit/stand-in';
import { expect } from 'chai';
import { acknowledgeAll, linkDevice } from '../device-owner.js';
import { BASE } from '../test-api.js';
import { file, largest } from './costly-bodies.js';
import { type Harm, measureHarm, WATCH_TURNS, watchMemory } from './neighbours.js';

export const MAX_LOOP_DELAY_MS = 250;
export const MAX_MEMORY_MB = 64;
export const MAX_NEIGHBOUR_MS = 2_000;
/** A machine that is busy with something else may spoil one. */
export const ATTEMPTS = 3;
/** Of a container: all memory of the process, and of those that it starts. */
export const CONTAINER_BYTES = 512 * 1024 * 1024;
export const MEGABYTE = 1024 * 1024;

export const TEXT = { to: '447700900001', text: 'hello' };
/** What each token of the pool asks before the next takes over: less than any limit. */
const PER_TOKEN = 6;

/** An API in a process of its own, in a container of 512 MiB where one can be made, and callers who use it all the while. */
export class AttackedApi {
  readonly space: RedisSpace;
  readonly process: ServiceProcess;
  /** `undefined` where no control group can be made. */
  readonly bound: MemoryBound | undefined;
  readonly port: number;
  readonly #stopSender: () => Promise<void>;
  readonly #stopWatch: () => void;
  readonly #replicas: ServiceProcess[] = [];
  #token = '';
  #used = 0;

  private constructor(
    parts: Pick<AttackedApi, 'space' | 'process' | 'bound' | 'port'>,
    stopSender: () => Promise<void>,
  ) {
    this.space = parts.space;
    this.process = parts.process;
    this.bound = parts.bound;
    this.port = parts.port;
    this.#stopSender = stopSender;
    this.#stopWatch = this.bound ? () => {} : watchMemory(this.process, CONTAINER_BYTES / MEGABYTE);
  }

  /** @param attachmentPorts where files may be fetched from on this machine. */
  static async start(attachmentPorts: readonly number[] = []): Promise<AttackedApi> {
    const space = await openRedisSpace();
    const stopSender = acknowledgeAll(space.store, await linkDevice(space.store));
    const bound = makeMemoryBound(CONTAINER_BYTES);
    if (!bound) console.warn('no control group can be made here: memory is looked at, and not limited');
    const attachments = {
      ...(attachmentPorts.length > 0 && {
        ATTACHMENT_NETWORKS: '127.0.0.1/32',
        ATTACHMENT_PORTS: attachmentPorts.join(),
      }),
    };
    const { process, port } = await startReplica(space, bound, attachments);
    const api = new AttackedApi({ space, process, bound, port }, stopSender);
    // What is made once is made now.
    await api.post('/send', await api.newToken(), file(largest));
    for (let round = 0; round < 30; round++) await api.#askAsOthers(round);
    return api;
  }

  /** One more, of which the others hear no more than of its Redis. Resolves with its origin. */
  async addReplica(): Promise<string> {
    const { process, port } = await startReplica(this.space, this.bound);
    this.#replicas.push(process);
    return originOf(port);
  }

  async close(): Promise<void> {
    this.#stopWatch();
    for (const replica of this.#replicas) expect(await replica.stop()).to.equal(true);
    expect(await this.process.stop()).to.equal(true);
    this.bound?.remove();
    await this.#stopSender();
    await this.space.close();
  }

  get origin(): string {
    return originOf(this.port);
  }

  async newToken(): Promise<string> {
    return (await createApiToken(this.space.store, 'main', { name: 'test' })).value;
  }

  /** The answer, whose body was read and dropped. */
  async post(path: string, token: string, body: Buffer | string): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${this.origin}${path}`, { method: 'POST', headers, body });
    await response.text();
    return response;
  }

  /** A connection. */
  async open(): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  async #askAsOthers(round: number): Promise<{ status: number }> {
    if (this.#used++ % PER_TOKEN === 0) this.#token = await this.newToken();
    const token = this.#token;
    if (round % 4 === 0) return this.post('/send', token, JSON.stringify(TEXT));
    // Answered at once: its check is all that is asked for.
    if (round % 4 === 1) return this.post('/otp', token, JSON.stringify({ phone: '447700900001', code: '12' }));
    if (round % 4 === 2) return this.post('/otp', token, JSON.stringify({ phone: '447700900001', code: '123456' }));
    const response = await fetch(`${this.origin}/status`, { headers: { authorization: `Bearer ${token}` } });
    await response.text();
    return response;
  }

  /** Measures what an attack does; it must end nothing, and neighbours get the answers that they always get. */
  async attack(attack: () => Promise<void>): Promise<Harm> {
    const harm = await measureHarm(this.process, (round) => this.#askAsOthers(round), attack);
    console.log(`        ${JSON.stringify(harm)}`);
    expect(Object.keys(harm.neighbours), JSON.stringify(harm)).to.have.members(['200', '202', '400']);
    const isAlive = [this.process.isRunning, this.bound?.kills() ?? 0];
    expect(isAlive, 'alive, and no process of it killed').to.deep.equal([true, 0]);
    return harm;
  }

  /** Expects an attack to do nothing to anyone. */
  async expectNoHarm(attack: () => Promise<void>): Promise<Harm> {
    for (let attempt = 1; ; attempt++) {
      const harm = await this.attack(attack);
      if (attempt < ATTEMPTS && !isHarmless(harm)) continue;
      expectHarmless(harm);
      return harm;
    }
  }
}

const originOf = (port: number) => `http://127.0.0.1:${port}${BASE}`;

async function startReplica(
  space: RedisSpace,
  bound: MemoryBound | undefined,
  settings: Record<string, string> = {},
): Promise<{ process: ServiceProcess; port: number }> {
  const process = await ServiceProcess.start(
    'api',
    {
      REDIS_URL: space.url,
      KEY_PREFIX: space.prefix,
      CONTENT_KEYS: space.keySettings.CONTENT_KEYS,
      API_PORT: '0',
      OPS_PORT: '0',
      PACE_PER_MINUTE: '100000',
      ...settings,
      // As in `k8s/base/api.yaml`. Of a container Node knows by itself how much memory there is.
      NODE_OPTIONS: `--max-semi-space-size=8 ${WATCH_TURNS}${bound ? '' : ' --max-old-space-size=256'}`,
    },
    bound && { prefix: bound.prefix },
  );
  const { port } = await process.waitForLog(({ message }) => message === 'api listens');
  return { process, port: Number(port) };
}

/** One for all tests of the `describe` that this is called in. */
export function useAttackedApi(attachmentPorts: () => readonly number[] = () => []): AttackedApi {
  let api: AttackedApi;
  before(async () => {
    api = await AttackedApi.start(attachmentPorts());
  });
  after(() => api.close());
  return standIn(() => api);
}

function isHarmless(harm: Harm): boolean {
  const { isQuiet, loopDelayMs, rawLoopDelayMs, memoryMb, slowestNeighbourMs, rawNeighbourMs } = harm;
  const [delayMs, neighbourMs] = isQuiet ? [rawLoopDelayMs, rawNeighbourMs] : [0, 0];
  return (
    Math.max(loopDelayMs, delayMs) <= MAX_LOOP_DELAY_MS &&
    memoryMb <= MAX_MEMORY_MB &&
    Math.max(slowestNeighbourMs, neighbourMs) < MAX_NEIGHBOUR_MS
  );
}

function expectHarmless(harm: Harm): void {
  const what = JSON.stringify(harm);
  expect(harm.loopDelayMs, what).to.be.at.most(MAX_LOOP_DELAY_MS);
  if (harm.isQuiet) expect(harm.rawLoopDelayMs, what).to.be.at.most(MAX_LOOP_DELAY_MS);
  expect(harm.memoryMb, what).to.be.at.most(MAX_MEMORY_MB);
  expect(harm.slowestNeighbourMs, what).to.be.below(MAX_NEIGHBOUR_MS);
  if (harm.isQuiet) expect(harm.rawNeighbourMs, what).to.be.below(MAX_NEIGHBOUR_MS);
}
