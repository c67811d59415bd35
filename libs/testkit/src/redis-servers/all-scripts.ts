import { readdirSync } from 'node:fs';
import { definedScripts, type Script } from '@gateway/store/core/scripts/define-script';

const SOURCES = new URL('../../../store/src/', import.meta.url);
const BUILT = new URL('../dist/', SOURCES);

/** Every Lua step of the store: a module defines its own when it is loaded. */
export async function allScripts(): Promise<Script[]> {
  // By their sources: what was built of a file that has moved since may still lie there.
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  await Promise.all(files.map((file) => import(new URL(file.replace(/ts$/, 'js'), BUILT).href)));
  return [...definedScripts().values()];
}

/** Of the modules that are loaded, by a hash or a whole text; `undefined` for none of ours. */
export function nameOfScript(text: string): string | undefined {
  const isIt = ({ onOne, onCluster }: Script) =>
    [onOne, onCluster].some(({ sha, lua }) => sha === text || lua === text);
  return [...definedScripts().values()].find(isIt)?.name;
}
