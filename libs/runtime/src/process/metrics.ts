import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type { Registry };

export interface MetricsOptions {
  /** Adds CPU, memory, event loop and GC of the process. Once per process: it starts observers. */
  processMetrics?: boolean;
}

export interface MetricOptions<Name extends string, Label extends string> {
  name: Name;
  help: string;
  labels?: readonly Label[];
}

export type CounterName = `gateway_${string}_total`;
export type HistogramName = `gateway_${string}_${'seconds' | 'bytes'}`;
export type GaugeName = `gateway_${string}`;

/** Latencies from a Redis round trip to the patience of a caller. */
const LATENCY_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** A registry of its own per process, or per test: nothing is global. Every metric carries the `service` label. */
export function createMetrics(service: string, { processMetrics = false }: MetricsOptions = {}): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  if (processMetrics) collectDefaultMetrics({ register: registry });
  return registry;
}

export function makeCounter<Label extends string = never>(
  registry: Registry,
  { name, help, labels = [] }: MetricOptions<CounterName, Label>,
): Counter<Label> {
  return new Counter<Label>({ name, help, labelNames: [...labels], registers: [registry] });
}

/** @param collect sets the gauge when it is read, for values that are cheaper to query than to track. */
export function makeGauge<Label extends string = never>(
  registry: Registry,
  { name, help, labels = [], collect }: MetricOptions<GaugeName, Label> & { collect?: (gauge: Gauge<Label>) => void },
): Gauge<Label> {
  return new Gauge<Label>({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    ...(collect && {
      collect() {
        collect(this);
      },
    }),
  });
}

/** @param buckets upper bounds in the unit of the name. */
export function makeHistogram<Label extends string = never>(
  registry: Registry,
  {
    name,
    help,
    labels = [],
    buckets = LATENCY_BUCKETS_SECONDS,
  }: MetricOptions<HistogramName, Label> & { buckets?: number[] },
): Histogram<Label> {
  return new Histogram<Label>({ name, help, labelNames: [...labels], buckets, registers: [registry] });
}
