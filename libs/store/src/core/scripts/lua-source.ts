import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The sources, from where the compiled module lies: the compiler copies no Lua. */
const SOURCES = fileURLToPath(new URL('../../../src/', import.meta.url));
const DIRECTIVE = /^--- @(include|constants) (.+)$/gm;

/** Values for Lua by name, each as Lua writes it. */
export type LuaConstants = Readonly<Record<string, string>>;

let files: Map<string, string> | undefined;

/** The Lua files of this library by name, without `.lua`: each lies beside the TypeScript that runs it. */
function luaFiles(): ReadonlyMap<string, string> {
  if (files) return files;
  const paths = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.lua'));
  files = new Map(paths.map((path) => [basename(path, '.lua'), readFileSync(join(SOURCES, path), 'utf8')]));
  if (files.size < paths.length) throw new Error('two Lua files have the same name');
  return files;
}

/**
 * Lua files in a row, with what they ask for in its place: `--- @include name` is another file, once however often it is
 * asked for; `--- @constants NAME ...` are values of the contract.
 * @throws for a file or a constant that is not there.
 */
export function composeLua(names: readonly string[], constants: LuaConstants): string {
  const included = new Set<string>();
  const compose = (name: string): string => {
    if (included.has(name)) return '';
    included.add(name);
    const source = luaFiles().get(name);
    if (source === undefined) throw new Error(`no Lua file named ${name}`);
    return source.replace(DIRECTIVE, (_, directive: string, words: string) => {
      const wanted = words.split(' ');
      if (directive === 'include') return wanted.map(compose).join('');
      return wanted.map((constant) => `local ${constant} = ${write(constant, name)}`).join('\n');
    });
  };
  const write = (constant: string, file: string): string => {
    const value = constants[constant];
    if (value === undefined) throw new Error(`${file}.lua asks for ${constant}, which the contract does not have`);
    return value;
  };
  return names.map(compose).join('');
}
