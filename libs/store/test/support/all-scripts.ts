import { readdirSync } from 'node:fs';
import { definedScripts, type Script } from '@gateway/store/core/scripts/define-script';

const BUILT = new URL('../../../../../../libs/store/dist/', import.meta.url);

/** Every Lua step of the store: a module defines its own when it is loaded. */
export async function allScripts(): Promise<Script[]> {
  const files = readdirSync(BUILT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'));
  await Promise.all(files.map((file) => import(new URL(file, BUILT).href)));
  return [...definedScripts().values()];
}
