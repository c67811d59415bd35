import winston from 'winston';

const COLOURS: Record<string, number> = { debug: 90, info: 32, warn: 33, error: 31 };

/** Lines for people: time, level, service, sentence, then `name=value`; stack traces below. */
export function formatPretty(): winston.Logform.Format {
  return winston.format.printf(toLine);
}

function toLine(info: winston.Logform.TransformableInfo): string {
  const { time, level, service, message, ...fields } = info as Record<string, unknown> & { level: string };
  const clock = String(time).slice(11, 23);
  const head = `${paint(90, clock)} ${paint(COLOURS[level] ?? 0, level.padEnd(5))} ${paint(36, String(service))}`;
  const stacks = Object.values(fields).map(stackOf).filter(Boolean);
  return [`${head} ${message}${toPairs(fields)}`, ...stacks].join('\n');
}

function toPairs(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .map(([name, value]) => ` ${paint(90, `${name}=`)}${toShortText(value)}`)
    .join('');
}

function toShortText(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) ? JSON.stringify(value) : value;
  if (hasStack(value)) return JSON.stringify(value.message);
  return JSON.stringify(value);
}

function stackOf(value: unknown): string {
  return hasStack(value) ? paint(90, value.stack) : '';
}

function hasStack(value: unknown): value is { message: string; stack: string } {
  return typeof value === 'object' && value !== null && 'stack' in value && 'message' in value;
}

function paint(colour: number, text: string): string {
  return `\u001b[${colour}m${text}\u001b[0m`;
}
