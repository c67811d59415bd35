import { buildOpenApi } from '@gateway/api/documents/build-openapi';
import { toJsonSchema } from '@gateway/api/documents/to-json-schema';
import { BASE_PATH, ENDPOINTS } from '@gateway/api/endpoints';
import { inputCheck } from '@gateway/api/http/input/check-input';
import { Joi } from '@gateway/api/http/input/input-types';
import { holdsTrunkZero } from '@gateway/contracts/people/holds-trunk-zero';
import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

describe('the documents of the API', () => {
  const { api } = useTestApi({ once: true });

  const open = (path: string, init?: RequestInit) => fetch(`${api.origin}${BASE}${path}`, init);

  it('are served without a token', async () => {
    const response = await open('/openapi.json');
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(await response.json()).to.include({ openapi: '3.1.0' });
    expect(response.headers.get('etag')).to.match(/^"[0-9a-f]{16}"$/);
  });

  it('are valid OpenAPI 3.1', async () => {
    const document = (await (await open('/openapi.json')).json()) as Record<string, unknown>;
    const { valid, errors } = await new Validator().validate(document);
    expect(valid, JSON.stringify(errors)).to.equal(true);
  });

  it('describe every operation with its parameters, its body and its failures', async () => {
    const { paths } = (await (await open('/openapi.json')).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    expect(Object.keys(paths).sort()).to.deep.equal([
      '/connect',
      '/contacts/check',
      '/devices',
      '/disconnect',
      '/events',
      '/events/stream',
      '/events/{id}',
      '/media/{id}',
      '/messages',
      '/messages/{messageId}',
      '/opt-outs',
      '/opt-outs/{phone}',
      '/otp',
      '/send',
      '/status',
      '/webhooks',
      '/webhooks/{webhookId}',
      '/webhooks/{webhookId}/deliveries',
      '/webhooks/{webhookId}/parked',
      '/webhooks/{webhookId}/pause',
      '/webhooks/{webhookId}/replay',
      '/webhooks/{webhookId}/resume',
      '/webhooks/{webhookId}/rotate',
      '/webhooks/{webhookId}/test',
    ]);
    const connect = paths['/connect']?.get as { parameters: { name: string; description: string }[] };
    expect(connect.parameters.map(({ name }) => name)).to.deep.equal([
      'method',
      'phoneNumber',
      'forceNew',
      'rawQrCode',
    ]);
    expect(connect.parameters.every(({ description }) => description.length > 10)).to.equal(true);
    const send = paths['/send']?.post as Record<string, Record<string, unknown>>;
    expect(Object.keys(send.responses!)).to.deep.equal([
      '202',
      '400',
      '401',
      '403',
      '408',
      '409',
      '413',
      '415',
      '422',
      '429',
      '431',
      '500',
      '503',
    ]);
    const body = JSON.stringify(send.requestBody);
    expect(body)
      .to.include('"maxItems":10000')
      .and.include('"anyOf":[{"required":["text"]},{"required":["attachment"]}]');
    expect(body).to.include('"oneOf":[{"required":["url"]},{"required":["base64"]}]');
    const { attachment } = JSON.parse(body).content['application/json'].schema.properties;
    expect(attachment.properties.url).to.include({ format: 'uri', maxLength: 2_048 }).and.have.property('pattern');
    expect(attachment.properties.base64).to.deep.include({
      ...{ type: 'string', contentEncoding: 'base64', pattern: '^[A-Za-z0-9+/]+={0,2}$' },
      ...{ minLength: 4, maxLength: 13_981_016 },
    });
  });

  it('hold no pattern that only some languages can read', () => {
    const document = JSON.stringify(buildOpenApi(ENDPOINTS, BASE_PATH));
    const patterns = [...document.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
      ([, text]) => JSON.parse(text!) as string,
    );
    expect(patterns.length).to.be.greaterThan(3);
    for (const pattern of patterns) expect(pattern).not.to.match(/\\p\{|\(\?<|\\[kQ]/i);
  });

  it('take the same phone numbers as the endpoints do', () => {
    const { paths } = buildOpenApi(ENDPOINTS, BASE_PATH);
    const { phone } = paths['/otp']!.post!.requestBody!.content['application/json'].schema.properties!;
    const fits = new Ajv2020({ strict: false }).compile(phone!);
    const piece = fc.oneof(
      fc.constantFrom('+', ' ', '-', '.', '(', ')', '[', ']', '\t', '0', 'x', '٤', '(0)', '[ 0-)'),
      fc.nat(99_999).map(String),
    );
    const written = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
    let taken = 0;
    fc.assert(
      fc.property(written, (number) => {
        const isTaken = normalizePhoneNumber(number) !== undefined;
        if (isTaken) taken++;
        // Which countries have such a zero no pattern tells.
        else if (holdsTrunkZero(number.replace(/\D/g, ''))) return;
        expect(fits(number), number).to.equal(isTaken);
      }),
      { numRuns: 5_000 },
    );
    expect(taken).to.be.greaterThan(50);
  });

  it('take the same names of headers of webhooks as the endpoints do, in any case', () => {
    const { paths } = buildOpenApi(ENDPOINTS, BASE_PATH);
    const { headers } = paths['/webhooks']!.post!.requestBody!.content['application/json'].schema.properties!;
    const fits = new Ajv2020({ strict: false }).compile(headers!);
    const { body } = ENDPOINTS.find(({ docs }) => docs.operationId === 'createWebhook')!;
    const check = inputCheck(body);
    const taken = ['Authorization', 'authorization', 'X-Api-Key', 'x-api-key', 'HOSTS', 'TE2', 'X-Host'];
    const refused = ['Host', 'host', 'hOsT', 'Webhook-Id', 'CONTENT-TYPE', 'Te', 'X A', 'X:', 'X'.repeat(101)];
    for (const name of [...taken, ...refused]) {
      const isTaken = check({ url: 'https://example.com/', headers: { [name]: 'x' } }).details.length === 0;
      expect([isTaken, fits({ [name]: 'x' })], name).to.deep.equal(Array(2).fill(taken.includes(name)));
    }
  });

  it('are not made of a pattern whose flags they cannot say, wherever it is', () => {
    const names = Joi.object().pattern(/^x/i, Joi.string());
    for (const inner of [Joi.string().pattern(/^x/i), names, Joi.array().items(names), Joi.object({ names })]) {
      expect(() => toJsonSchema(Joi.object({ inner }))).to.throw('/^x/i has flags');
    }
    expect(() => toJsonSchema(Joi.object({ inner: Joi.string().pattern(/^x/u) }))).not.to.throw();
  });

  it('show for each body one that may be sent as it is', () => {
    const { paths } = buildOpenApi(ENDPOINTS, BASE_PATH);
    for (const { path, methods, body, docs } of ENDPOINTS) {
      const { requestBody } = paths[path.replace(/:(\w+)/g, '{$1}')]![methods[0]!]!;
      expect(requestBody !== undefined, docs.operationId).to.equal(docs.example !== undefined);
      if (docs.example) expect(body.validate(docs.example).error).to.equal(undefined);
    }
  });

  it('have a page for people, which runs and loads nothing but its own program', async () => {
    const first = await open('/docs');
    const page = await first.text();
    expect(first.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(first.headers.get('cache-control')).to.equal('no-store');
    const policy = first.headers.get('content-security-policy')!;
    expect(policy).to.include("default-src 'none'").and.include("script-src 'self';").and.not.include('unsafe');
    const nonce = /style-src 'nonce-([^']+)'/.exec(policy)![1]!;
    expect(page).to.include(`content="${nonce}"`);
    expect((await open('/docs')).headers.get('content-security-policy')).not.to.include(nonce);
    expect(page.match(/(src|href)="[^"]+"/g)).to.deep.equal([
      'href="data:,"',
      'href="openapi.json"',
      'src="docs/reference.js"',
    ]);
  });

  it('have a program for that page, as browsers want it', async () => {
    const packed = await open('/docs/reference.js');
    expect(packed.headers.get('content-encoding')).to.equal('gzip');
    expect(Number(packed.headers.get('content-length'))).to.be.within(1_000_000, 1_700_000);
    const plain = await open('/docs/reference.js', { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).to.equal(null);
    expect(await plain.text()).to.equal(await packed.text());
    const headers = { 'if-none-match': packed.headers.get('etag')!, 'cache-control': 'max-age=0' };
    expect((await open('/docs/reference.js', { headers })).status).to.equal(304);
  });

  it('can only be read', async () => {
    expect((await open('/docs', { method: 'POST' })).status, 'needs a token first').to.equal(401);
    const { status, headers } = await api.call('DELETE', '/openapi.json');
    expect(status).to.equal(405);
    expect(headers.get('allow')).to.equal('GET, HEAD');
  });
});
