/**
 * Settings that make a process of the gateway one of the next version: this very tree, but with a `RECORD_VERSION` that this
 * tree does not know.
 */
export const NEXT_VERSION: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import ${new URL('./next-version.js', import.meta.url).href}`,
};
