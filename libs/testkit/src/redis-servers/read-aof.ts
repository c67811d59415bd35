import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [STAR, DOLLAR, CR] = [42, 36, 13];

/**
 * The commands of an append-only file of Redis, in order: what scripts wrote, command by command. Begun anew, it holds only what was
 * written since. The last one may be cut off, as by a kill.
 * @param folder that of the server.
 */
export function* readAof(folder: string): Generator<Buffer[]> {
  const files = join(folder, 'appendonlydir');
  const numberOf = (file: string) => Number(/\.(\d+)\.incr\.aof$/.exec(file)?.[1]);
  const names = readdirSync(files).filter((file) => numberOf(file) > 0);
  for (const name of names.sort((a, b) => numberOf(a) - numberOf(b)))
    yield* readCommands(readFileSync(join(files, name)));
}

function* readCommands(bytes: Buffer): Generator<Buffer[]> {
  let at = 0;
  /** Of a line that begins with `mark`; `undefined` where the file ends. */
  const readNumber = (mark: number): number | undefined => {
    const end = bytes.indexOf(CR, at);
    if (end < 0) return undefined;
    if (bytes[at] !== mark) throw new Error(`an append-only file has no command at ${at}`);
    const number = Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return number;
  };
  while (at < bytes.length) {
    const command: Buffer[] = [];
    const words = readNumber(STAR);
    for (let left = words ?? 0; left > 0; left--) {
      const length = readNumber(DOLLAR);
      if (length === undefined || at + length + 2 > bytes.length) return;
      command.push(bytes.subarray(at, at + length));
      at += length + 2;
    }
    if (words === undefined) return;
    yield command;
  }
}
