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

/** Lines below its level are not written. It may change while the process runs. */
export interface LogThreshold {
  level: LogLevel;
}

export interface LoggerOptions {
  /** Names the process in every line. */
  service: string;
  level?: LogLevel | LogThreshold;
  /** Coloured text for people instead of JSON lines; by default when stdout is a terminal. */
  pretty?: boolean;
  /** Where lines go; stdout by default. */
  destination?: Writable;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** Makes the log of a process: one line per event, with the context of the work (`requestId`) and without secrets. */
export function createLogger({ service, level = 'info', pretty, destination = process.stdout }: LoggerOptions): Logger {
  const asText = pretty ?? (destination as { isTTY?: boolean }).isTTY === true;
  const sink = winston.createLogger({
    level: 'debug',
    // The fields are plain data by then: winston's own JSON format looks for cycles and big integers in every line.
    format: asText ? formatPretty() : winston.format.printf((line) => JSON.stringify(line)),
    transports: [new winston.transports.Stream({ stream: destination })],
  });
  const threshold = typeof level === 'string' ? { level } : level;
  return writeTo({ sink, threshold, beforeLine: destination === process.stdout ? gatherLines : () => {} }, { service });
}

interface Output {
  sink: winston.Logger;
  threshold: LogThreshold;
  beforeLine(): void;
}

function writeTo(output: Output, fixed: LogFields): Logger {
  const fixedFields = redactFields(fixed);
  const write = (level: LogLevel) => (given: string, fields?: LogFields) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(output.threshold.level)) return;
    output.beforeLine();
    const message = redactText(given);
    const time = new Date().toISOString();
    const line = Object.assign(
      { time, level, message },
      fixedFields,
      redactFields(Object.assign({}, currentContext(), fields)),
    );
    // Once more: no field takes the place of these.
    output.sink.log(Object.assign(line, { time, level, message }));
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => writeTo(output, Object.assign({}, fixed, fields)),
  };
}

let isGathering = false;

/**
 * Lines of one turn of the event loop go out in one write: to a pipe each write waits for the kernel. Nothing is lost
 * when the process ends by itself.
 */
function gatherLines(): void {
  if (isGathering) return;
  isGathering = true;
  process.stdout.cork();
  setImmediate(writeGathered);
}

function writeGathered(): void {
  if (isGathering) process.stdout.uncork();
  isGathering = false;
}

process.on('exit', writeGathered);
