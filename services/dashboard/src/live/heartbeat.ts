/** One open stream. */
export interface Stream {
  /** Tabs of one browser have the same. */
  sessionId: string;
  /** Whether its user is still signed in, as who they were. */
  staysIn(): Promise<boolean>;
  beat(): void;
  end(): void;
}

/** Proxies close what is silent for a minute, and a page takes what is silent for half of one for dead. */
const BEAT_MS = 15_000;

/** Lets all streams of the process hear that they live, and ends those whose session is over: asked once for all tabs of it. */
export class Heartbeat {
  readonly #streams = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly everyMs = BEAT_MS) {}

  /** Until it is called off. */
  add(stream: Stream): () => void {
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#beat(), this.everyMs);
    return () => {
      this.#streams.delete(stream);
      if (this.#streams.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #beat(): void {
    const sessions = new Map<string, Stream[]>();
    for (const stream of this.#streams) {
      sessions.set(stream.sessionId, [...(sessions.get(stream.sessionId) ?? []), stream]);
    }
    for (const streams of sessions.values()) void beatSession(streams);
  }
}

async function beatSession(streams: readonly Stream[]): Promise<void> {
  // Where that cannot be found out they go on: it is asked again.
  const isIn = await streams[0]!.staysIn().catch(() => true);
  for (const stream of streams) {
    if (isIn) stream.beat();
    else stream.end();
  }
}
