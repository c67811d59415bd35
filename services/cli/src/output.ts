import type { Writable } from 'node:stream';

export type Row = Record<string, string>;

/**
 * What a terminal obeys instead of showing it, and what turns around what follows: names come from phones, answers from servers.
 * JSON for programs has its own way of writing these.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is not to be shown.
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** What a command has to say: for people, or with `--json` for programs. */
export interface Output {
  /** One object: lines of `name  value`, a dash for `null`; or JSON. */
  show(fields: Record<string, unknown>): void;
  /** A list: a table, or a JSON array. */
  list(items: readonly object[], toRow: (index: number) => Row, empty: string): void;
  /** One of many that come by and by: a line of text, or of JSON. */
  line(fields: Record<string, unknown>, text: string): void;
  /** A sentence beside the result; programs do not get it. */
  note(text: string): void;
}

export function createOutput({ json, stream }: { json: boolean; stream: Writable }): Output {
  const print = (text: string) => stream.write(`${text}\n`);
  if (json) {
    return {
      show: (fields) => print(JSON.stringify(fields)),
      list: (items) => print(JSON.stringify(items)),
      line: (fields) => print(JSON.stringify(fields)),
      note: () => {},
    };
  }
  return {
    show: (fields) => print(toLines(fields)),
    list: (items, toRow, empty) => print(items.length === 0 ? empty : toTable(items.map((_, i) => toRow(i)))),
    line: (_, text) => print(plain(text)),
    note: print,
  };
}

/** A time for people, or a dash. */
export function showTime(ms: number | undefined): string {
  return ms === undefined ? '-' : new Date(ms).toISOString().replace('T', ' ').slice(0, 16);
}

const plain = (text: string) => text.replace(OBEYED, '\ufffd');

function toLines(fields: Record<string, unknown>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${plain(String(value ?? '-'))}`).join('\n');
}

function toTable(rows: Row[]): string {
  const names = Object.keys(rows[0]!);
  const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => row[name]!.length)));
  const toLine = (cells: string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd();
  return [names.map((name) => name.toUpperCase()), ...rows.map((row) => names.map((name) => plain(row[name]!)))]
    .map(toLine)
    .join('\n');
}
