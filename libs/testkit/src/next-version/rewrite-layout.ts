import type { LoadHook } from 'node:module';

const LAYOUT = '/libs/contracts/dist/sends/send-layout.js';

/** What the next version says in its own source: it writes another record version, and reads both. */
export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  if (!url.endsWith(LAYOUT)) return loaded;
  const source = String(loaded.source)
    .replace(/(?<=RECORD_VERSION = )(\d+)/, (version) => String(Number(version) + 1))
    .replace(/(?<=READ_VERSIONS = \[)RECORD_VERSION/, 'RECORD_VERSION, RECORD_VERSION - 1');
  if (!source.includes('[RECORD_VERSION, RECORD_VERSION - 1]')) throw new Error(`${LAYOUT} does not look as it did`);
  return { ...loaded, source };
};
