import type { Operation } from '@gateway/dashboard/http/operation';
import { OPERATIONS } from '@gateway/dashboard/operations/operations';
import { expect } from 'chai';
import { type Browser, useTestDashboard } from './support/test-dashboard.js';

/** In each field alone, too: most of what is no text is stopped by the check of all fields. */
const TEXTS = ['\u0000', '\ud800', '../..'];
const VALUES: readonly unknown[] = [
  ...TEXTS,
  ...[null, -1, 1e308, '', 'x'.repeat(3_000), '__proto__'],
  ...[[], [[null]], { $gt: '' }, { length: 1e9 }],
];
const PLACES = ['..', '%00', '*', '__proto__', 'a%0d%0ab', 'x'.repeat(3_000)];
const QUERIES = ['limit=1e9', 'after[]=x', 'after=%00', 'before=-1', '__proto__=x', 'query=%ED%A0%80', 'device=*'];
/** They sign us out, or count as guesses. */
const ABOUT_SESSIONS = /^\/(sign-|me\/password)/;

function* wrongRequestsOf({ method, path, body }: Operation): Generator<[path: string, json?: object]> {
  for (const place of /:/.test(path) ? PLACES : []) yield [path.replace(/:\w+/g, place), {}];
  const known = path.replace(/:\w+/g, 'x');
  if (method === 'get') return yield* QUERIES.map((query) => [`${known}?${query}`] as [string]);
  const fields = Object.keys((body?.describe().keys ?? {}) as object);
  if (fields.length === 0) return;
  for (const field of fields) for (const value of TEXTS) yield [known, { [field]: value }];
  for (const value of VALUES) yield [known, Object.fromEntries(fields.map((field) => [field, value]))];
}

describe('what no page of the console would ask for', () => {
  const stage = useTestDashboard();
  let admin: Browser;
  before(async () => {
    admin = await stage.dashboard.signIn('admin');
  });

  it('is refused in the shape of all refusals, or does nothing; no operation fails over it', async () => {
    const operations = OPERATIONS.filter(({ path }) => !ABOUT_SESSIONS.test(path));
    expect(operations).to.have.length.above(35);
    for (const operation of operations) {
      const wrong = [...wrongRequestsOf(operation)];
      await Promise.all(
        wrong.map(async ([path, json]) => {
          const method = operation.method.toUpperCase();
          const { status, text, body } = await admin.call(method, path, method === 'POST' ? { json } : {});
          const what = `${method} ${path.slice(0, 60)} ${JSON.stringify(json)?.slice(0, 90)}: ${status} ${text.slice(0, 200)}`;
          if (status < 400) return;
          expect(body, what).to.include({ success: false }).and.to.include.all.keys('error', 'code', 'requestId');
          expect(body.code, what).to.not.equal('internal');
          expect(text.length, 'what was given is not repeated').to.be.below(2_500);
        }),
      );
    }
  });
});
