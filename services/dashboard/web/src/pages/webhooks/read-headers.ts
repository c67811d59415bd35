/** One `Name: value` a line; `undefined` when a line is none. */
export function readHeaders(text: string): Record<string, string> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const headers = lines.map((line) => /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/.exec(line));
  if (headers.includes(null)) return undefined;
  return Object.fromEntries(headers.map((found) => [found![1]!, found![2]!]));
}
