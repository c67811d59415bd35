import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type { Registry };

/** Each label has one meaning, whatever metric it is at. */
export const LABEL_MEANINGS = {
  bucket: 'the rate limit that a request counts towards',
  cause: 'why something of ours did not go as it should',
  change: 'what a person asked for',
  connection: 'the purpose of a connection to Redis',
  error: 'why a recipient failed, as `error` in `/messages`',
  fingerprint: 'a digest of a setting: the same where the setting is',
  kind: 'what a send is: text, media, otp',
  lane: 'whether events are told at once (prompt), or gathered (lists)',
  method: 'the method of an HTTP request',
  node: 'the host and port of a master of a Redis Cluster',
  node_version: 'the version of Node.js',
  on_messenger: 'what the network says of a number',
  outcome: 'how that ended which the metric counts',
  phase: 'what a process does with a device that it owns',
  place: 'where a recipient waits in the memory of a sender (docs/flow.md)',
  reason: 'why a device is in its state, as `reason` in `/status`',
  receipt: 'what a phone confirms',
  refusal: 'why an attachment URL was not fetched',
  restriction: 'what the network restricts an account in',
  route: 'the template of an HTTP path',
  setting: 'the setting that a fingerprint is of',
  state: 'the state of a device or of a webhook endpoint, as `status` in `/status` and `/webhooks`',
  status: 'the status of a recipient, as in `/messages`',
  status_code: 'the status of an HTTP answer; 499: the caller left before it',
  version: 'the version of the gateway',
} as const;
export type LabelName = keyof typeof LABEL_MEANINGS;

/** The values that a label can have: all of them are there, as 0, from the first scrape. `open`: they are bounded, and not known before. */
export type LabelValues = readonly string[] | 'open';
export type Labels = Partial<Record<LabelName, LabelValues>>;

export interface MetricSpec<L extends Labels = Labels, Type extends 'counter' | 'gauge' | 'histogram' = MetricType> {
  type: Type;
  name: string;
  /** What it counts or measures. */
  help: string;
  /** What operators learn from it. */
  question: string;
  labels?: L;
  /** The combinations of label values that there are, where not all of them are. */
  combinations?: readonly Record<string, string>[];
  /** `fleet`: of the whole installation, and the same from every process that has it: `max`. Else of one process: `sum`. */
  of?: 'process' | 'fleet';
  /** Upper bounds, in the unit of the name. */
  buckets?: readonly number[];
}
export type MetricType = 'counter' | 'gauge' | 'histogram';

type Common<L extends Labels> = Omit<MetricSpec<L>, 'type' | 'name' | 'buckets'>;

export function counter<const L extends Labels>(name: `gateway_${string}_total`, spec: Common<L>) {
  return { ...spec, name, type: 'counter' } as MetricSpec<L, 'counter'>;
}

export function gauge<const L extends Labels>(name: `gateway_${string}`, spec: Common<L>) {
  return { ...spec, name, type: 'gauge' } as MetricSpec<L, 'gauge'>;
}

export function histogram<const L extends Labels>(
  name: `gateway_${string}_duration_seconds`,
  spec: Common<L> & { buckets: readonly number[] },
) {
  return { ...spec, name, type: 'histogram' } as MetricSpec<L, 'histogram'>;
}

/** From a Redis round trip to the patience of a caller. */
export const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

type MetricOf<Spec> =
  Spec extends MetricSpec<infer L, infer Type>
    ? {
        counter: Counter<keyof L & string>;
        gauge: Gauge<keyof L & string>;
        histogram: Histogram<keyof L & string>;
      }[Type]
    : never;
export type MetricSpecs = Readonly<Record<string, MetricSpec<Labels, MetricType>>>;
export type MetricsOf<Specs extends MetricSpecs> = { [Name in keyof Specs]: MetricOf<Specs[Name]> };
/** Sets a metric when it is read, for values that are cheaper to query than to track. */
export type Collectors<Specs extends MetricSpecs> = {
  [Name in keyof Specs]?: (metric: MetricOf<Specs[Name]>) => void | Promise<void>;
};

/** Adds metrics to a registry, with all values of their labels at 0: a series that began with 1 would never have risen. */
export function addMetrics<Specs extends MetricSpecs>(
  registry: Registry,
  specs: Specs,
  collectors: Collectors<Specs> = {},
): MetricsOf<Specs> {
  const made = Object.entries(specs).map(([key, spec]) => [key, addMetric(registry, spec, collectors[key] as Collect)]);
  return Object.fromEntries(made) as MetricsOf<Specs>;
}

type AnyMetric = Counter | Gauge | Histogram;
type Collect = ((metric: AnyMetric) => void | Promise<void>) | undefined;

function addMetric(registry: Registry, spec: MetricSpec<Labels, MetricType>, collect: Collect): AnyMetric {
  const { type, name, help, labels = {}, buckets } = spec;
  const options = {
    ...{ name, help, labelNames: Object.keys(labels), registers: [registry] },
    ...(collect && {
      async collect(this: AnyMetric) {
        await collect(this);
      },
    }),
  };
  if (type === 'histogram') {
    const made = new Histogram({ ...options, buckets: [...buckets!] } as ConstructorParameters<typeof Histogram>[0]);
    for (const each of combinationsOf(spec)) made.zero(each);
    return made;
  }
  const made = type === 'counter' ? new Counter(options) : new Gauge(options);
  for (const each of combinationsOf(spec)) made.inc(each, 0);
  return made;
}

/** Of closed values; none where a label is open. */
export function combinationsOf({
  labels = {},
  combinations,
}: MetricSpec<Labels, MetricType>): Record<string, string>[] {
  if (combinations) return [...combinations];
  return Object.entries(labels as Record<string, LabelValues>).reduce<Record<string, string>[]>(
    (found, [label, values]) =>
      values === 'open' ? [] : found.flatMap((each) => values.map((value) => ({ ...each, [label]: value }))),
    [{}],
  );
}

/** `loggedOut` as a label value. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('-', '_');
}

export interface RegistryOptions {
  /** Adds CPU, memory, event loop and GC of the process. Once per process: it starts observers. */
  processMetrics?: boolean;
}

/** Gauges whose names end like those of counters. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** A registry of its own per process, or per test: nothing is global. */
export function createMetrics({ processMetrics = false }: RegistryOptions = {}): Registry {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
}
