import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { sleep } from '@gateway/runtime/clock';
import type { Random } from '../random.js';

/**
 * `honest` takes all. `flaky` refuses every third request, drops connections, and answers some when no one listens any more.
 * `picky` refuses all that names one recipient, or what one person wrote. `apart` asks for each recipient alone, in several requests at a time, which it answers in
 * another order than they came; it drops few. `dead` passes its test and takes nothing after that.
 */
export const RECEIVER_KINDS = ['honest', 'flaky', 'picky', 'apart', 'dead'] as const;
export type ReceiverKind = (typeof RECEIVER_KINDS)[number];

type Answer = 'take' | 'refuse' | 'dislike' | 'drop' | 'late';

const REFUSED = 0.3;
const DROPPED = 0.05;
const LATE = 0.01;
/** Of `apart`, which gets a request for each change: each failure is a pause of five seconds. */
const DROPPED_APART = 0.001;
const LONGEST_THOUGHT_MS = 20;
/** As many as put aside what fails while its successor passes. After one more it would be left alone for five minutes. */
const FAILURES_IN_A_ROW = 3;

/** The server behind a webhook. */
export class Receiver {
  /** What it took, each `webhook-id` once, in order. */
  readonly events: GatewayEvent[] = [];
  requests = 0;
  /** Requests under an id that had come before. */
  repeats = 0;
  /** Of these, those with other bytes. */
  altered = 0;
  /** When it has heard a request, and before it answers. */
  beforeAnswer: () => Promise<void> = async () => {};
  readonly #bodies = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** The first recipient, and the first writer, that a `picky` one hears of. */
  readonly #disliked: Partial<Record<'to' | 'from', string>> = {};
  #failures = 0;
  #isHealed = false;

  private constructor(
    readonly kind: ReceiverKind,
    private readonly random: Random,
    private readonly server: Server,
  ) {}

  static async start(kind: ReceiverKind, random: Random): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(kind, random, server);
    server.on('request', (request, response) => void receiver.#hear(request, response).catch(() => response.destroy()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  /** From now on it takes all, unless it is dead. */
  heal(): void {
    this.#isHealed = true;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const id = String(request.headers['webhook-id']);
    const body = Buffer.concat(pieces).toString();
    const event = JSON.parse(body) as GatewayEvent;
    this.#note(id, body);
    if (this.kind === 'apart') await sleep(this.random.between(0, LONGEST_THOUGHT_MS));
    const answer = event.type === 'webhook.test' ? 'take' : this.#choose(body);
    if (answer === 'drop') return void response.destroy();
    if (answer === 'dislike') return void response.writeHead(400).end();
    if (answer === 'refuse') return void response.writeHead(500).end();
    if (!this.#taken.has(id)) this.events.push(event);
    this.#taken.add(id);
    await this.beforeAnswer();
    if (answer === 'late') setTimeout(() => response.writeHead(200).end(), WEBHOOK_LIMITS.timeoutMs + 1_000).unref();
    else response.writeHead(204).end();
  }

  #note(id: string, body: string): void {
    this.requests++;
    const before = this.#bodies.get(id);
    if (before !== undefined) this.repeats++;
    if (before !== undefined && before !== body) this.altered++;
    this.#bodies.set(id, before ?? body);
  }

  #choose(body: string): Answer {
    if (this.kind === 'picky' && !this.#isHealed) {
      for (const who of ['to', 'from'] as const) {
        const named = new RegExp(`"${who}":"\\d+"`).exec(body)?.[0];
        if (named) this.#disliked[who] ??= named;
      }
      return Object.values(this.#disliked).some((disliked) => body.includes(disliked)) ? 'dislike' : 'take';
    }
    if (this.kind === 'apart') return !this.#isHealed && this.random.next() < DROPPED_APART ? 'drop' : 'take';
    if (this.kind === 'dead') return this.random.next() < 0.5 ? 'refuse' : 'drop';
    if (this.kind === 'honest' || this.#isHealed || this.#failures === FAILURES_IN_A_ROW) {
      this.#failures = 0;
      return 'take';
    }
    const drawn = this.random.next();
    const answer =
      drawn < REFUSED
        ? 'refuse'
        : drawn < REFUSED + DROPPED
          ? 'drop'
          : drawn < REFUSED + DROPPED + LATE
            ? 'late'
            : 'take';
    this.#failures = answer === 'take' ? 0 : this.#failures + 1;
    return answer;
  }
}
