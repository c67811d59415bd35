import type { GatewayEvent } from '@gateway/contracts/events/events';
import { sleep } from '@gateway/runtime/clock';
import type { Random } from '../random.js';

/** `pull` asks page by page, `stream` listens. */
export type ConsumerKind = 'pull' | 'stream';

interface Deps {
  bases: readonly string[];
  token: string;
  random: Random;
  /** Where it begins. */
  cursor: string;
}

const LONGEST_LIFE_MS = 3_000;
const AGAIN_MS = 250;
/** A token has 120 calls a minute. */
const PULL_EVERY_MS = 500;
/** Each recipient by itself, so that both ways in which it is told are compared. */
const STREAM_TYPES = ['sent', 'delivered', 'read', 'failed', 'expired', 'cancelled', 'received'].map(
  (name) => `message.${name}`,
);
const OTP_TYPES = ['sent', 'delivered', 'read', 'failed', 'expired'].map((name) => `otp.${name}`);
export const TYPES_ALONE = [...STREAM_TYPES, ...OTP_TYPES, 'send.finished'];

/** One who reads the events over the API, and dies at any moment: the next one goes on at the cursor that is written down. */
export class Consumer {
  readonly events: GatewayEvent[] = [];
  /** Deaths. */
  kills = 0;
  /** The API said that events are gone. */
  gone = 0;
  #cursor: string;
  #calls = 0;
  #isCalm = false;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    readonly kind: ConsumerKind,
    private readonly deps: Deps,
  ) {
    this.#cursor = deps.cursor;
    this.#running = this.#live();
  }

  /** It dies no more. */
  heal(): void {
    this.#isCalm = true;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #live(): Promise<void> {
    const { random } = this.deps;
    while (!this.#stop.signal.aborted) {
      const death = new AbortController();
      const timer = setTimeout(
        () => {
          if (this.#isCalm) return;
          this.kills++;
          death.abort();
        },
        random.between(50, LONGEST_LIFE_MS),
      );
      const life = AbortSignal.any([death.signal, this.#stop.signal]);
      try {
        await (this.kind === 'pull' ? this.#pull(life) : this.#listen(life));
      } catch {
        // It died, or the API did: the next one asks another replica.
        await sleep(AGAIN_MS, this.#stop.signal).catch(() => {});
      } finally {
        clearTimeout(timer);
      }
    }
  }

  async #pull(life: AbortSignal): Promise<void> {
    while (!life.aborted) {
      const answer = await this.#ask(`/events?after=${this.#cursor}&limit=100&wait=2`, life);
      const page = (await answer.json()) as { events: GatewayEvent[]; nextCursor: string };
      // What it was told and where it is are written down together.
      this.events.push(...page.events);
      this.#cursor = page.nextCursor;
      await sleep(PULL_EVERY_MS, life);
    }
  }

  async #listen(life: AbortSignal): Promise<void> {
    const answer = await this.#ask(`/events/stream?types=${TYPES_ALONE.join()}`, life, {
      'last-event-id': this.#cursor,
    });
    let text = '';
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const frames = text.split('\n\n');
      text = frames.pop()!;
      for (const frame of frames) this.#take(frame);
    }
  }

  #take(frame: string): void {
    const { id, event, data } = Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/s, 2)));
    if (id === undefined || data === undefined) return;
    if (event !== 'cursor') this.events.push(JSON.parse(data) as GatewayEvent);
    this.#cursor = id;
  }

  async #ask(path: string, signal: AbortSignal, headers: Record<string, string> = {}): Promise<Response> {
    const { bases, token } = this.deps;
    const url = bases[this.#calls++ % bases.length]! + path;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers }, signal });
    if (answer.status === 200) return answer;
    if (answer.status === 410) this.gone++;
    throw new Error(`events: ${answer.status}`);
  }
}
