import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { ENDPOINTS } from '@gateway/api/endpoints';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import fc from 'fast-check';
import { answerContacts, type ContactAnswers } from './answer-contacts.js';
import { addSender, linkDevice, type TestSender } from './device-owner.js';
import { checkAnswer } from './openapi-check.js';
import { BASE, startTestApi, type TestApi } from './test-api.js';

interface Attempt {
  method: string;
  query: [string, string][];
  headers: Record<string, string>;
  body: Buffer | undefined;
  authorised: boolean;
}

const number = fc.oneof(
  fc.constant('447700900001'),
  fc.constant('+44 7700 900-002'),
  fc.string(),
  fc.integer(),
  fc.jsonValue(),
);
/** URLs lead nowhere, and none asks for a name: this is not about other people's servers. */
const attachment = fc.record(
  {
    type: fc.oneof(fc.constantFrom('image', 'video', 'audio', 'document', 'sticker'), fc.jsonValue()),
    base64: fc.oneof(fc.base64String({ maxLength: 400 }), fc.string()),
    url: fc.oneof(
      fc.constantFrom('http://127.0.0.1/', 'http://[::1]/x', 'http://2130706433/', 'file:///x'),
      fc.string(),
    ),
    filename: fc.oneof(fc.constant('offer.pdf'), fc.string({ unit: 'binary' }), fc.jsonValue()),
    caption: fc.oneof(fc.string(), fc.jsonValue()),
    mimeType: fc.oneof(fc.constantFrom('image/png', 'text/plain; charset=utf-8', 'a/b;c=d'), fc.string()),
  },
  { requiredKeys: ['type'] },
);
const sendBody = fc.record(
  {
    to: fc.oneof(number, fc.array(number, { maxLength: 50 })),
    text: fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 300 }), fc.jsonValue()),
    attachment: fc.oneof({ weight: 3, arbitrary: attachment }, fc.jsonValue()),
    existingMessageId: fc.string(),
  },
  { requiredKeys: [] },
);
const otpBody = fc.record(
  {
    phone: number,
    code: fc.oneof(fc.constantFrom('0042', 123456, '12345678'), fc.integer(), fc.string(), fc.jsonValue()),
    language: fc.oneof(fc.constantFrom('English', 'Arabic'), fc.string(), fc.jsonValue()),
  },
  { requiredKeys: [] },
);
const json = fc
  .oneof(sendBody, otpBody, fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()))
  .map((value) => Buffer.from(JSON.stringify(value)));
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }).map((raw) => Buffer.from(raw)),
  fc.string().map((raw) => Buffer.from(raw)),
);
/** JSON with a byte changed: nearly right. */
const damaged = fc.tuple(json, fc.nat(), fc.nat({ max: 255 })).map(([good, at, byte]) => {
  if (good.length > 0) good[at % good.length] = byte;
  return good;
});
const headerValue = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 300,
});
const headers = fc.record(
  {
    'content-type': fc.oneof(
      { weight: 6, arbitrary: fc.constant('application/json') },
      fc.constantFrom('text/plain', 'application/json; charset=utf-16', 'multipart/form-data', 'application/json;;;='),
      headerValue,
    ),
    'content-encoding': fc.constantFrom('identity', 'gzip', 'br', 'x'),
    'idempotency-key': fc.oneof(fc.constantFrom('a', 'b', 'c'), headerValue),
    'x-request-id': headerValue,
    'x-forwarded-for': headerValue,
    accept: headerValue,
    expect: fc.constantFrom('100-continue', 'cake'),
    'if-none-match': fc.constantFrom('*', '"x"'),
    range: fc.constant('bytes=0-1'),
    cookie: headerValue,
  },
  { requiredKeys: [] },
);
const name = fc.oneof(
  fc.constantFrom('method', 'phoneNumber', 'forceNew', 'rawQrCode', 'cursor', 'limit', 'token', '__proto__'),
  fc.string(),
);
const value = fc.oneof(fc.constantFrom('qrCode', 'pairingCode', 'true', 'false', '1', '447700900001', ''), fc.string());

/** What a well-meaning caller sends: the rest of the noise is measured against it. */
function goodAttempts(path: string, methods: readonly string[]): fc.Arbitrary<Attempt> {
  const bodies: Record<string, fc.Arbitrary<object>> = {
    '/send': fc.record({ to: fc.constant('447700900001'), text: fc.string().map((text) => `a${text}`) }),
    '/otp': fc.record({ phone: fc.constant('447700900001'), code: fc.integer({ min: 1_000, max: 99_999_999 }) }),
    '/contacts/check': fc.record({
      phones: fc.array(fc.constantFrom('447700900001', '+44 7700 900-002'), { minLength: 1 }),
    }),
    '/webhooks': fc.constant({ url: 'https://1.1.1.1/' }),
    '/opt-outs': fc.record({ phone: fc.array(fc.constantFrom('447700900001', '+44 7700 900-002'), { minLength: 1 }) }),
  };
  return fc.record({
    method: fc.constantFrom(...methods.map((method) => method.toUpperCase())),
    query: fc.constant([]),
    headers: fc.constant({ 'content-type': 'application/json' }),
    body: bodies[path]?.map((body) => Buffer.from(JSON.stringify(body))) ?? fc.constant(undefined),
    authorised: fc.constant(true),
  });
}

function attempts(methods: readonly string[]): fc.Arbitrary<Attempt> {
  return fc.record({
    method: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...methods.map((method) => method.toUpperCase())) },
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
    ),
    query: fc.array(fc.tuple(name, value), { maxLength: 5 }),
    headers,
    body: fc.option(fc.oneof({ weight: 3, arbitrary: json }, bytes, damaged), { nil: undefined }),
    authorised: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  });
}

/** One that may do everything would see the sends of others. */
const SCOPES = API_TOKEN_SCOPES.filter((scope) => scope !== 'admin');
/** At a time: a request mostly waits. */
const CALLERS = 4;

/** Defines a test per endpoint that sends it so many random requests. */
export function fuzzEveryEndpoint(title: string, requestsPerEndpoint: number): void {
  describe(title, () => {
    let space: RedisSpace;
    let api: TestApi;
    let sender: TestSender;
    let answers: ContactAnswers | undefined;
    const agent = new Agent({ keepAlive: true });

    before(async () => {
      space = await openRedisSpace();
      api = await startTestApi(space, {
        contactChecksPerDay: 1_000_000,
        waits: { codeMs: 20, logoutMs: 20, otpMs: 20 },
      });
      sender = await addSender(space.store);
    });
    after(async () => {
      answers?.close();
      agent.destroy();
      await sender.leave();
      await api.close();
      await space.close();
    });

    async function call(
      device: string | undefined,
      path: string,
      { method, query, headers: given, body, authorised }: Attempt,
    ) {
      // A token of its own: this is not about limits.
      const options = { name: 'fuzz', scopes: SCOPES, ...(device && { device }) };
      const { value: token } = await createApiToken(space.store, 'main', options);
      const parameters = new URLSearchParams(query);
      const sent = request(api.origin, {
        method,
        agent,
        // As it is: of a URL the client would leave out a segment that is a dot.
        path: `${BASE}${path}?${parameters}`,
        // Guesses make their address a suspect: new tokens from there are looked up together, and wait for that.
        localAddress: authorised ? '127.0.0.1' : '127.0.0.2',
        headers: {
          ...given,
          ...(authorised && { authorization: `Bearer ${token}` }),
          ...(body && { 'content-length': body.length }),
        },
      });
      if (given.expect === '100-continue' && body) sent.once('continue', () => sent.end(body));
      else sent.end(body);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const received = new Headers(Object.entries(response.headers).map(([key, item]) => [key, String(item)]));
      const status = response.statusCode!;
      // It would never end.
      if (received.get('content-type') === 'text/event-stream') {
        sent.destroy();
        return { status, headers: received, body: '' as never };
      }
      return { status, headers: received, body: JSON.parse(await text(response)) as { error?: string } };
    }

    for (const { path, methods, docs, ofWorkspace } of ENDPOINTS) {
      it(`get an answer of the contract from ${docs.operationId}`, async () => {
        const device = docs.operationId.toLowerCase();
        const owner = await linkDevice(space.store, { workspace: 'main', device });
        answers?.close();
        answers = await answerContacts(space, owner, () => ({ onMessenger: true, hasConversation: null }));
        const seen = new Set<number>();
        const attempt = fc.oneof({ weight: 9, arbitrary: attempts(methods) }, goodAttempts(path, methods));
        const segment = fc.oneof(
          fc.string().map(encodeURIComponent),
          fc.constantFrom('msg_x', '.', '..', '%zz', '447700900001', '+44%207700', `msg_${'0'.repeat(24)}`),
        );
        const property = fc.asyncProperty(attempt, segment, async (tried, id) => {
          const target = path.replace(/:\w+/, id);
          const answer = await call(ofWorkspace ? undefined : device, target, tried);
          checkAnswer(tried.method, target, answer);
          seen.add(answer.status);
          expect(answer.status, JSON.stringify(answer.body)).not.to.be.oneOf([500, 502, 503]);
          // No connection service runs here: a link that is really asked for cannot get a code.
          if (answer.status === 504) expect(target).to.match(/^\/connect/);
        });
        // They take an id, and at most a few settings.
        const share = path.startsWith('/webhooks/') ? 0.2 : 1;
        const numRuns = Math.ceil((requestsPerEndpoint * share) / CALLERS);
        const plain = { query: [], headers: {}, body: undefined, authorised: true };
        // Few requests might have neither of these by chance.
        const examples: [Attempt, string][] = [
          [{ ...plain, method: 'PUT' }, 'x'],
          [{ ...plain, method: methods[0]!.toUpperCase() }, 'x'],
        ];
        await Promise.all(Array.from({ length: CALLERS }, () => fc.assert(property, { numRuns, examples })));
        // Nor a sender: what waits for the network is told that it goes on without them.
        const success = (docs.otherAnswers?.[0] ?? docs.answer).status;
        const wanted = path.includes(':') ? [404, 400, 405] : [success, 400, 405];
        expect([...seen]).to.include.members(wanted);
      });
    }
  });
}
