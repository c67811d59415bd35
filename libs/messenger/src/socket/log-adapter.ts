import type { Logger } from '@gateway/runtime/logs/logger';
import type { StanzaTrace } from '../tracing/stanza-trace.js';
import type { BaileysLogger } from './baileys.js';

/** Runs of digits are phone numbers and ids, long runs of letters and digits are keys and message ids. */
const IDENTIFYING = /\d{5,}|[A-Za-z0-9+/_-]{20,}={0,2}/g;

/**
 * The library's log, at debug. It writes whole stanzas, jids, keys and errors that quote them; what passes is its
 * sentence without anything that identifies a person, numbers that count, flags, and the name of an error.
 */
export function adaptLogger(logger: Logger, trace?: Pick<StanzaTrace, 'isOn' | 'sent'>): BaileysLogger {
  const write = (severity: string) => (fields: unknown, message?: string) => {
    const text = typeof fields === 'string' ? fields : (message ?? messageOf(fields));
    logger.debug('baileys', { severity, says: redact(text), ...harmlessFields(fields) });
  };
  const adapter: BaileysLogger = {
    // The library uses the level only to decide whether to log every stanza. It must not, except for a trace, which redacts.
    get level() {
      return trace?.isOn ? 'trace' : 'info';
    },
    child: () => adapter,
    trace: (fields: unknown) => passOn(fields, trace),
    debug: () => {},
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  return adapter;
}

function passOn(fields: unknown, trace: Pick<StanzaTrace, 'sent'> | undefined): void {
  const { xml, msg } = (fields ?? {}) as { xml?: unknown; msg?: unknown };
  if (msg === 'xml send' && typeof xml === 'string') trace?.sent(xml);
}

export function redact(text: string): string {
  return text.replace(IDENTIFYING, '***').slice(0, 200);
}

function messageOf(fields: unknown): string {
  return String((fields as { msg?: unknown } | null)?.msg ?? '');
}

function harmlessFields(fields: unknown): Record<string, unknown> {
  if (typeof fields !== 'object' || fields === null) return {};
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'boolean' || (typeof value === 'number' && Math.abs(value) < 100_000)) result[name] = value;
    if (value instanceof Error) result[name] = redact(`${value.name}: ${value.message}`);
  }
  return result;
}
