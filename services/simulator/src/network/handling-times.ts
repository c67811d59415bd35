/** Upper ends of the buckets, in seconds. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05];
/** What clients may call their stanzas is not ours to bound. */
const MOST_TAGS = 20;

interface Times {
  /** How many took no longer than the bucket of the same place, and longer than the one before. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/**
 * How long handlers take per stanza, by its tag: a histogram that Prometheus can read. The client library's own hashes
 * labels with every observation, and there is one for each stanza.
 */
export class HandlingTimes {
  readonly name = 'simulator_stanza_seconds';
  readonly #times = new Map<string, Times>();

  note(tag: string, seconds: number): void {
    const times = this.#timesOf(tag);
    times.sum += seconds;
    times.count += 1;
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket += 1;
    times.counts[bucket]! += 1;
  }

  /** In the form in which the Prometheus library wants a metric. */
  async get() {
    const values = [...this.#times].flatMap(([tag, { counts, sum, count }]) => {
      let below = 0;
      const buckets = [...BUCKETS, '+Inf'].map((le, place) => {
        below += counts[place]!;
        return { labels: { tag, le }, value: below, metricName: `${this.name}_bucket` };
      });
      const totals = { sum, count };
      const rest = Object.entries(totals).map(([what, value]) => {
        return { labels: { tag }, value, metricName: `${this.name}_${what}` };
      });
      return [...buckets, ...rest];
    });
    return { name: this.name, help: 'Time to handle a stanza, by tag', type: 'histogram', values, aggregator: 'sum' };
  }

  #timesOf(tag: string): Times {
    const known = this.#times.get(tag);
    if (known) return known;
    if (this.#times.size >= MOST_TAGS && tag !== 'other') return this.#timesOf('other');
    const times = { counts: Array(BUCKETS.length + 1).fill(0) as number[], sum: 0, count: 0 };
    this.#times.set(tag, times);
    return times;
  }
}
