import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as a collector gets it. */
export interface CollectedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  /** Of the process. */
  service: string;
  instance: string;
  attributes: Record<string, unknown>;
  beganAtMs: number;
  endedAtMs: number;
  isError: boolean;
}

export interface TraceCollector {
  endpoint: string;
  /** Of all processes, as they came. */
  readonly spans: CollectedSpan[];
  /** All that came, as it was written. */
  readonly bodies: string[];
  close(): Promise<void>;
}

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}
interface TracesBody {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: WrittenSpan[] }[];
  }[];
}
interface WrittenSpan extends Pick<CollectedSpan, 'name' | 'traceId' | 'spanId' | 'parentSpanId'> {
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code?: number };
}

/** Takes traces as collectors of OpenTelemetry do: OTLP over HTTP, in JSON. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      if (!isTraces(req)) return res.writeHead(404).end();
      bodies.push(body);
      spans.push(...readSpans(JSON.parse(body)));
      return res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    ...{ endpoint: `http://127.0.0.1:${port}`, spans, bodies },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function isTraces({ method, url, headers }: IncomingMessage): boolean {
  return method === 'POST' && url === '/v1/traces' && headers['content-type'] === 'application/json';
}

function readSpans({ resourceSpans }: TracesBody): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const { 'service.name': service, 'service.instance.id': instance } = fieldsOf(resource.attributes);
    const process = { service: String(service), instance: String(instance) };
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...process, ...readSpan(span) })));
  });
}

function readSpan({ name, traceId, spanId, parentSpanId, status, ...span }: WrittenSpan) {
  return {
    ...{ name, traceId, spanId, ...(parentSpanId && { parentSpanId }), attributes: fieldsOf(span.attributes) },
    beganAtMs: msOf(span.startTimeUnixNano),
    endedAtMs: msOf(span.endTimeUnixNano),
    isError: status.code === 2,
  };
}

/** Nanoseconds since 1970 do not fit into a number. */
const msOf = (nanoseconds: string) => Number(BigInt(nanoseconds) / 1_000n) / 1_000;

/** A value is in a field that is named after its type. */
function fieldsOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
