import { changeList, type Item, type ListChange } from './change-list.js';
import { nowMs } from './clock.js';

export type LiveStatus = 'off' | 'connecting' | 'live' | 'trouble';

export interface LiveState {
  status: LiveStatus;
  /** When the console was last heard of. */
  heardAtMs: number | undefined;
}

const HIDDEN_MS = 30_000;
/** The console says something every 15 s. */
const SILENT_MS = 35_000;
const AGAIN_MS = 2_000;

/**
 * The one stream of this tab. What each stream tells first is the whole of its topics, so that one which broke off is made good
 * by the next; of a list it tells changes from then on. A tab that is hidden for 30 s has none.
 */
export class LiveConnection {
  #state: LiveState = { status: 'off', heardAtMs: undefined };
  readonly #listeners = new Set<() => void>();
  readonly #topics = new Map<string, number>();
  #source: EventSource | undefined;
  #reopening: number | undefined;
  #silence: number | undefined;
  #hiding: number | undefined;

  /** @param onRefused the stream was refused: perhaps the session has ended. */
  constructor(
    private readonly onData: (topic: string, data: unknown) => void,
    private readonly onRefused: () => void,
  ) {
    document.addEventListener('visibilitychange', () => this.#follow());
    window.addEventListener('online', () => this.#reopen(0));
    window.addEventListener('offline', () => this.#drop());
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly read = (): LiveState => this.#state;

  /** Follows a topic until it is called off. */
  follow(topic: string): () => void {
    this.#topics.set(topic, (this.#topics.get(topic) ?? 0) + 1);
    if (this.#topics.get(topic) === 1) this.#reopen(0);
    return () => {
      const left = (this.#topics.get(topic) ?? 1) - 1;
      if (left > 0) return void this.#topics.set(topic, left);
      this.#topics.delete(topic);
      this.#reopen(0);
    };
  }

  #follow(): void {
    window.clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = window.setTimeout(() => this.#close('off'), HIDDEN_MS);
    else if (!this.#source) this.#reopen(0);
  }

  #reopen(inMs: number): void {
    window.clearTimeout(this.#reopening);
    this.#reopening = window.setTimeout(() => this.#open(), inMs);
  }

  #open(): void {
    const topics = [...this.#topics.keys()].sort();
    this.#close(topics.length > 0 ? 'connecting' : 'off');
    if (topics.length === 0) this.#set({ heardAtMs: undefined });
    if (topics.length === 0 || (document.hidden && this.#state.heardAtMs !== undefined)) return;
    const source = new EventSource(`/console/api/live?topics=${topics.join()}`);
    this.#source = source;
    for (const topic of topics) {
      let known: unknown;
      const hear = (data: unknown) => {
        this.#heard('live');
        known = data;
        this.onData(topic, known);
      };
      source.addEventListener(topic, ({ data }: MessageEvent<string>) => hear(JSON.parse(data)));
      source.addEventListener(`${topic}.changes`, ({ data }: MessageEvent<string>) =>
        hear(changeList(known as Item[], JSON.parse(data) as ListChange)),
      );
    }
    source.addEventListener('beat', () => this.#heard(this.#state.status === 'trouble' ? 'trouble' : 'live'));
    source.addEventListener('trouble', () => this.#heard('trouble'));
    source.addEventListener('error', () => this.#failed(source));
    this.#expectSound();
  }

  #failed(source: EventSource): void {
    this.#set({ status: 'connecting' });
    // After a broken connection the browser tries again by itself; after a refusal it does not.
    if (source.readyState !== EventSource.CLOSED) return;
    this.#source = undefined;
    this.onRefused();
    this.#reopen(AGAIN_MS);
  }

  #heard(status: LiveStatus): void {
    this.#set({ status, heardAtMs: nowMs() });
    this.#expectSound();
  }

  #expectSound(): void {
    window.clearTimeout(this.#silence);
    this.#silence = window.setTimeout(() => this.#reopen(0), SILENT_MS);
  }

  #drop(): void {
    this.#close('connecting');
    this.#reopen(AGAIN_MS);
  }

  #close(status: LiveStatus): void {
    window.clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = undefined;
    this.#set({ status });
  }

  #set(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
