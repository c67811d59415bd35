import type { Writable } from 'node:stream';
import winston from 'winston';
import { currentContext } from './context.js';
import { formatPretty } from './format-pretty.js';
import { redactFields, redactText } from './redact-fields.js';

export type LogFields = Record<string, unknown>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/**
 * Constant sentences plus fields, so that lines can be counted and searched: `info('send accepted', { recipients })`.
 * Errors go into a field: `warn('renewal failed', { error })`.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log with fields that every line repeats. */
  child(fields: LogFields): Logger;
}

export interface LoggerOptions {
  /** Names the process in every line. */
  service: string;
  level?: LogLevel;
  /** Coloured text for people instead of JSON lines; by default when stdout is a terminal. */
  pretty?: boolean;
  /** Where lines go; stdout by default. */
  destination?: Writable;
}

/** Makes the log of a process: one line per event, with the context of the work (`requestId`) and without secrets. */
export function createLogger({ service, level = 'info', pretty, destination = process.stdout }: LoggerOptions): Logger {
  const asText = pretty ?? (destination as { isTTY?: boolean }).isTTY === true;
  const sink = winston.createLogger({
    level,
    // The fields are plain data by then: winston's own JSON format looks for cycles and big integers in every line.
    format: asText ? formatPretty() : winston.format.printf((line) => JSON.stringify(line)),
    transports: [new winston.transports.Stream({ stream: destination })],
  });
  return writeTo(sink, { service }, destination === process.stdout ? gatherLines(destination) : () => {});
}

/**
 * Lines of one turn of the event loop go out in one write: to a pipe each write waits for the kernel. Nothing is lost
 * when the process ends by itself.
 */
function gatherLines(destination: Writable): () => void {
  let gathering = false;
  const flush = () => {
    if (gathering) destination.uncork();
    gathering = false;
  };
  process.on('exit', flush);
  return () => {
    if (gathering) return;
    gathering = true;
    destination.cork();
    setImmediate(flush);
  };
}

function writeTo(sink: winston.Logger, fixed: LogFields, beforeLine: () => void): Logger {
  const write = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (!sink.isLevelEnabled(level)) return;
    beforeLine();
    const own = { time: new Date().toISOString(), level, message: redactText(message) };
    // Twice: for the order of the line, and so that no field takes the place of these.
    sink.log({ ...own, ...redactFields({ ...fixed, ...currentContext(), ...fields }), ...own });
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => writeTo(sink, { ...fixed, ...fields }, beforeLine),
  };
}
