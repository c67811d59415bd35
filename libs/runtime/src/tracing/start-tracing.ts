import { propagation, trace } from '@opentelemetry/api';
import { systemClock } from '../clock.js';
import type { Logger } from '../logs/logger.js';

interface TracingOptions {
  /** Base address of a collector that takes OTLP over HTTP: `/v1/traces` follows. */
  endpoint: string;
  /** Names the process in traces, unless OTEL_SERVICE_NAME does. */
  name: string;
  processId: string;
  version: string;
  logger: Logger;
}

/** With its retries; so long does the end of a process wait for a collector that is not there. */
const EXPORT_MS = 3_000;
const QUIET_MS = 60_000;

/**
 * From now on `beginTrace` records spans, and a collector gets them, some at a time. What it does not take is dropped: messages wait for no
 * trace. The SDK, 10 MB of memory, is loaded here and not before. Resolves with what ends it, when what is left was sent.
 */
export async function startTracing({ endpoint, name, processId, version, logger }: TracingOptions) {
  const [sdk, { OTLPTraceExporter }, { W3CTraceContextPropagator, setGlobalErrorHandler }, resources] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
    ]);
  const warn = warnNowAndThen(logger);
  setGlobalErrorHandler(warn);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_MS,
  });
  const resource = resources
    .resourceFromAttributes({
      ...{ 'service.name': `gateway-${name}`, 'service.version': version, 'service.instance.id': processId },
    })
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const provider = new sdk.BasicTracerProvider({
    resource,
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  });
  trace.setGlobalTracerProvider(provider);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return async (): Promise<void> => {
    trace.disable();
    propagation.disable();
    await provider.shutdown().catch(warn);
  };
}

/** Of its error only the name and code: its text may hold what a collector answered. */
function warnNowAndThen(logger: Logger): (problem: unknown) => void {
  let quietUntilMs = 0;
  return (problem) => {
    const nowMs = systemClock.monotonicMs();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + QUIET_MS;
    const { name: reason, code } = problem as { name?: string; code?: unknown };
    logger.warn('spans not exported', { reason, code });
  };
}
