import {
  type Attributes,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { systemClock } from '../clock.js';

/** What may be said of work in a trace: ids, names and counts. No number of a person, text, code or token. */
export interface SpanFields {
  'http.request.method'?: string;
  'http.route'?: string;
  'http.response.status_code'?: number;
  'gateway.request_id'?: string;
  'gateway.message_id'?: string;
  'gateway.device'?: string;
  'gateway.kind'?: string;
  /** Of one span, which may stand for many. */
  'gateway.messages'?: number;
  [outcome: `gateway.outcome.${string}`]: number;
}

const KINDS = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
};

export interface SpanOptions {
  kind: keyof typeof KINDS;
  fields: SpanFields;
  /** By `systemClock`, in ms. Default: now. */
  beganAtMs?: number;
}

/** A piece of work in a trace. Without tracing (`startTracing`), or in a trace that is not sampled, all of it does nothing. */
export interface WorkSpan {
  /** `traceparent` of W3C for what is a part of this work; `undefined` if nothing is recorded of it. */
  trace: string | undefined;
  note(fields: SpanFields): void;
  /** @param endedAtMs as `beganAtMs`. */
  end(endedAtMs?: number): void;
  /** It ended with an error, of which the trace is told the name alone. */
  fail(error: Error): void;
}

/** Work that came from outside, in the trace of its caller if there is one. */
export function beginTrace(name: string, traceparent: string | undefined, options: SpanOptions): WorkSpan {
  const parent = traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
  const { kind, fields, beganAtMs = systemClock.nowMs() } = options;
  const attributes = fields as Attributes;
  return workSpan(
    trace.getTracer('gateway').startSpan(name, { kind: KINDS[kind], attributes, startTime: beganAtMs }, parent),
  );
}

/** A part of work that may be traced. */
export function beginPart(name: string, traceparent: string | undefined, options: SpanOptions): WorkSpan {
  return traceparent === undefined ? NO_SPAN : beginTrace(name, traceparent, options);
}

function workSpan(span: Span): WorkSpan {
  if (!span.isRecording()) return NO_SPAN;
  const carrier: { traceparent?: string } = {};
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), carrier);
  const end = (endedAtMs = systemClock.nowMs()) => span.end(endedAtMs);
  return {
    trace: carrier.traceparent,
    note: (fields) => void span.setAttributes(fields as Attributes),
    end,
    fail: ({ name }) => {
      span.setStatus({ code: SpanStatusCode.ERROR, message: name });
      end();
    },
  };
}

const NO_SPAN: WorkSpan = { trace: undefined, note: () => {}, end: () => {}, fail: () => {} };
