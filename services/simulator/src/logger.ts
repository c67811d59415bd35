/** The little of a logger that the simulator needs; any winston or pino-like adapter fits in one line. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

const ignore = () => {};

/** Says nothing: the default inside tests. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LEVELS)[number] | 'silent';

/** One JSON object a line on stderr: stdout belongs to the ready line. */
export function makeStderrLogger(level: LogLevel): Logger {
  const lowest = LEVELS.indexOf(level as (typeof LEVELS)[number]);
  const writeAs = (name: (typeof LEVELS)[number]) => {
    if (level === 'silent' || LEVELS.indexOf(name) < lowest) return ignore;
    return (message: string, fields?: object) => {
      process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level: name, message, ...fields })}\n`);
    };
  };
  return { debug: writeAs('debug'), info: writeAs('info'), warn: writeAs('warn'), error: writeAs('error') };
}
