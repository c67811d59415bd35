import { ENDPOINTS } from '@gateway/api/endpoints';
import { inputCheck } from '@gateway/api/http/input/check-input';
import { LIMITS } from '@gateway/contracts/limits';
import { expect } from 'chai';
import type { ObjectSchema } from 'joi';

const MEGABYTE = 1024 * 1024;
/** Of one check. Each takes a few; a loaded machine pays for the garbage of others, too. */
const MAX_CPU_MS = 250;

const filled = (unit: string, before = '', after = '') =>
  before + unit.repeat(Math.floor((MEGABYTE - before.length) / Buffer.byteLength(unit))) + after;

/** The same at a time is cheap to put in order, or into the letters of a host name. */
function mixed(before: string, make: (at: number) => number): string {
  const points = Array.from({ length: MEGABYTE / 3 }, (_, at) => make(at));
  return before + points.map((point) => String.fromCodePoint(point)).join('');
}
const IDEOGRAPHS = (at: number) => 0x4e00 + ((at * 7_919) % 20_000);
const MARKS = (at: number) => (at < MEGABYTE / 6 ? 0x0301 : 0x0316);

/** What has been costly somewhere: names of hosts, marks that are put in order, all that makes a pattern go back. */
const LONG = [
  ...['a', '0', ' ', '(', '(0', '+44 (0', '\u3164', '\u0301', '😀', '\ud800', '[ . ', 'a/a;a=a', '\\', '%'].map(
    (unit) => filled(unit),
  ),
  ...['x', 'a.', 'xn--', '\u4e00', '\u0301', '\u1112\u1161', '\ufdfa', '%E4%B8%80', ':', '@', '/.', '/..', '?'].map(
    (unit) => filled(unit, 'http://x'),
  ),
  ...['a', ';a', ' ;', 'a="', ';a=a'].map((unit) => filled(unit, 'a/a', '!')),
  filled(' ', 'a', '.pdf'),
  filled('\u00ad', '44', '7700900123'),
  ...['', 'http://x', 'http://x.de/'].flatMap((before) => [mixed(before, IDEOGRAPHS), mixed(before, MARKS)]),
];

type Description = { type?: string; keys?: Record<string, Description> };

/** Each field that takes anything but an object, by its place. */
function fieldsOf({ keys = {} }: Description, path: readonly string[] = []): string[][] {
  return Object.entries(keys).flatMap(([name, field]) =>
    field.keys ? fieldsOf(field, [...path, name]) : [[...path, name]],
  );
}

const put = (path: readonly string[], value: unknown): unknown =>
  path.length === 0 ? value : { [path[0]!]: put(path.slice(1), value) };

/**
 * Of the best of three attempts: while others use the caches and the threads of a core, the same work takes a multiple of its CPU
 * time, and now and then the collector has its turn in it. Input that is costly is so each time.
 */
function cpuMsOf(work: () => void): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && leastMs > MAX_CPU_MS; attempt++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  return leastMs;
}

describe('checking input', () => {
  const checks = ENDPOINTS.flatMap((endpoint) =>
    [endpoint.query, endpoint.body].flatMap((schema) =>
      fieldsOf(schema.describe() as Description).map((path) => ({
        name: `${endpoint.path} ${path.join('.')}`,
        path,
        check: inputCheck(schema as ObjectSchema<unknown>),
      })),
    ),
  );

  it('takes almost no time, with any value in any field', () => {
    expect(checks.map(({ name }) => name)).to.include.members(['/send to', '/send attachment.url', '/otp code']);
    const slow: string[] = [];
    for (const { name, path, check } of checks) {
      for (const text of LONG) {
        const cpuMs = cpuMsOf(() => check(put(path, text)));
        if (cpuMs > MAX_CPU_MS) slow.push(`${name}: ${Math.round(cpuMs)} ms for ${JSON.stringify(text.slice(0, 20))}`);
      }
    }
    expect(slow).to.deep.equal([]);
  });

  it('of a list of numbers takes next to no time, whatever they look like', () => {
    for (const entry of ['447700900123', '2250712345678', '+44 (0) 7700 900123', '+44 (07700) 900123', '(((((((((((']) {
      const to = Array.from({ length: LIMITS.maxRecipients }, () => entry);
      const check = checks.find(({ name }) => name === '/send to')!.check;
      expect(
        cpuMsOf(() => check({ to, text: 'x' })),
        entry,
      ).to.be.below(MAX_CPU_MS);
    }
  });
});
