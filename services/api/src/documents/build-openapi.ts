import { API_ERRORS, type ApiErrorCode } from '@gateway/contracts/errors';
import { exampleOf } from '@gateway/contracts/events/event-examples';
import { EVENT_DATA, eventSchema } from '@gateway/contracts/events/events';
import { LIMITS, RATE_LIMITS } from '@gateway/contracts/limits';
import type { AnswerDocs, Endpoint, HttpMethod } from '../http/endpoint.js';
import { type JsonSchema, toJsonSchema } from './to-json-schema.js';

export type OpenApi = ReturnType<typeof buildOpenApi>;
export type Operation = ReturnType<typeof toOperation>;

/** Failures that any request can meet. */
const COMMON_ERRORS: readonly ApiErrorCode[] = [
  'invalid_request',
  'invalid_token',
  'not_allowed',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'headers_too_large',
  'internal',
  'unavailable',
];

const INTRODUCTION = `Sends messages through linked messenger accounts.

Every request carries an API token, in the header \`Authorization: Bearer <token>\` or as \`?token=\`. Every body is a JSON
object with a boolean \`success\`; on failure \`error\` says what is wrong and \`details\` where. Requests are limited per token
and minute: every authenticated answer has \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (Unix
time in seconds). A request that is refused before its token is read (400, 408, 431, 503) has those of its address instead,
for requests without a token. \`X-Request-Id\` identifies a request in the logs. You may send your own: 1 to 100 letters, digits
and \`_.:-\`. It must not contain what could be a phone number (seven or more digits in all), unless it is a UUID, a ULID, or
the id of a trace.

A token has scopes: \`connect\`, \`send\`, \`otp\`, \`read\` and \`opt-outs\` unless it was created with others. Each operation
names the scope that it needs; without it the answer is 403. A token belongs to one workspace, and reaches only the devices,
messages and opt-outs of that workspace.

A body is uncompressed JSON in UTF-8. Apart from \`attachment.base64\` it may have 1 MB, ${LIMITS.maxBodyDepth} levels of nesting, and
${LIMITS.maxBodyEntries} fields and entries. After the first ${LIMITS.bodySlowStartSeconds} seconds it must arrive at ${LIMITS.minBodyBytesPerSecond / 1024} kB a second or faster. This document and
its page need no token and are limited to ${LIMITS.tokenlessPerMinute} requests a minute and address.

An unknown path is answered with 404, an unknown method with 405 and \`Allow\`. HEAD is answered like GET, without the body,
except for \`/connect\`, where GET starts a link.`;

/** The OpenAPI 3.1 document, made from the schemas that validate requests, so that both always agree. */
export function buildOpenApi(endpoints: readonly Endpoint[], basePath: string) {
  const paths: Record<string, Partial<Record<HttpMethod, Operation>>> = {};
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}');
    for (const method of endpoint.methods) paths[path] = { ...paths[path], [method]: toOperation(endpoint, method) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Messaging Gateway API',
      version: '1',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath }],
    security: [{ bearer: [] }, { query: [] }],
    paths,
    webhooks: Object.fromEntries(Object.keys(EVENT_DATA).map((type) => [type, { post: toWebhook(type) }])),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        query: { type: 'apiKey', in: 'query', name: 'token' },
      },
      headers: Object.fromEntries(
        Object.entries(HEADERS).flatMap(([name, header]) => [
          [name, { ...header, required: true }],
          [optional(name), header],
        ]),
      ),
      schemas: { Error: ERROR },
    },
  };
}

const SIGNATURE_HEADERS = {
  'webhook-id': 'The `id` of the event; of a test, its own.',
  'webhook-timestamp': 'Unix time in seconds at which this request was made.',
  'webhook-signature': 'One for each secret, with a space between them: `v1,` or `v1a,` and base64.',
};

/** What is posted to an endpoint that was made with `POST /webhooks`; `GET /events` tells the same. */
function toWebhook(type: string) {
  return {
    operationId: `on.${type}`,
    summary: type,
    description:
      'Signed as Standard Webhooks has it: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Any 2xx within 15 s is success, and a 410 ' +
      'disables the endpoint; all else comes again, as the same bytes under the same `webhook-id`, but for what must not be told, or is not ' +
      'kept, any more. A batch that is too large (413), or was refused three times while others are taken, comes in parts with ids of their own; ' +
      'the changes in it keep theirs.',
    parameters: Object.entries(SIGNATURE_HEADERS).map(([name, description]) =>
      parameter('header', name, { type: 'string', description }, true),
    ),
    requestBody: {
      required: true,
      content: json(toJsonSchema(eventSchema(type)), exampleOf(type)),
    },
    responses: { '2XX': { description: 'The event was taken.' } },
  };
}

const integer = (description: string) => ({ description, schema: { type: 'integer' } });
const HEADERS = {
  'X-Request-Id': { description: 'Identifies the request in logs.', schema: { type: 'string' } },
  'X-RateLimit-Limit': integer('Requests allowed a minute.'),
  'X-RateLimit-Remaining': integer('Requests left in this window.'),
  'X-RateLimit-Reset': integer('Unix time in seconds at which the window ends.'),
  'Retry-After': integer(
    'Seconds to wait before the next attempt. With 409 only while the first request with an idempotency key is in progress, ' +
      'or during a pause that the network asked for.',
  ),
  'Idempotency-Replayed': {
    description: 'Only on an idempotent replay: the answer is that of the first request.',
    schema: { const: 'true' },
  },
  'Content-Disposition': {
    description: '`attachment`, with the name that the file has.',
    schema: { type: 'string' },
  },
  'Content-Security-Policy': {
    description: 'A browser that shows the file runs and loads nothing.',
    schema: { type: 'string' },
  },
  'X-Accel-Buffering': {
    description: 'Asks nginx, and proxies like it, to pass each event on as it comes.',
    schema: { const: 'no' },
  },
  'WWW-Authenticate': { description: 'How to show a token.', schema: { const: 'Bearer' } },
};

const ERROR: JsonSchema = {
  type: 'object',
  properties: {
    success: { const: false },
    error: { type: 'string' },
    details: {
      type: 'array',
      description: `What is wrong where; the first ${LIMITS.maxValidationDetails} problems.`,
      items: {
        type: 'object',
        properties: {
          path: { type: 'array', items: { type: ['string', 'integer'] as never } },
          message: { type: 'string' },
        },
        required: ['path', 'message'],
        additionalProperties: false,
      },
    },
    reason: {
      type: 'string',
      description: 'Machine-readable reason; only with `The account asks for a passkey`.',
    },
    oldestCursor: {
      type: 'string',
      description: 'Where to go on, as `after`; only with `Events are gone`.',
    },
    resetIn: { type: 'integer', description: 'Seconds until the limit is lifted; with 429 only.' },
  },
  required: ['success', 'error'],
  additionalProperties: false,
};

function toOperation(endpoint: Endpoint, method: HttpMethod) {
  const { docs, bucket, scope, ofWorkspace } = endpoint;
  const who = ofWorkspace ? ', not for tokens of one device' : '';
  const body = toJsonSchema(endpoint.body);
  const hasBody = Object.keys(body.properties ?? {}).length > 0;
  return {
    operationId:
      endpoint.methods.length > 1
        ? `${docs.operationId}By${method[0]!.toUpperCase()}${method.slice(1)}`
        : docs.operationId,
    summary: docs.summary,
    description: `${docs.description}\n\nLimit: ${RATE_LIMITS[bucket]} requests a minute and token. Scope: \`${scope}\`${who}.`,
    'x-scope': scope,
    parameters: [...pathParameters(endpoint), ...queryParameters(endpoint), ...headerParameters(endpoint)],
    ...(hasBody && { requestBody: { required: true, content: json(body, docs.example) } }),
    responses: { ...success(endpoint), ...failures([...COMMON_ERRORS, ...docs.errors]) },
  };
}

function pathParameters({ path }: Endpoint) {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => parameter('path', name!, { type: 'string' }, true));
}

function queryParameters({ query }: Endpoint) {
  const { properties = {}, required = [] } = toJsonSchema(query);
  return Object.entries(properties).map(([name, schema]) => parameter('query', name, schema, required.includes(name)));
}

function headerParameters({ idempotent, docs }: Endpoint) {
  const key: JsonSchema = {
    type: 'string',
    pattern: `^[!-~]{1,${LIMITS.maxIdempotencyKeyCharacters}}$`,
    description:
      'Makes a retry safe: for 24 hours the same request with the same key and token gets the first answer again, even if ' +
      'the default device has changed meanwhile.',
  };
  const last: JsonSchema = {
    type: 'string',
    description: 'The `id` of the last event that was heard; in place of `after`.',
  };
  return [
    ...(idempotent ? [parameter('header', 'Idempotency-Key', key, false)] : []),
    ...(docs.answer.isStream ? [parameter('header', 'Last-Event-ID', last, false)] : []),
  ];
}

function parameter(place: string, name: string, { description, ...schema }: JsonSchema, required: boolean) {
  return { in: place, name, required, ...(description !== undefined && { description }), schema };
}

interface ResponseDocs {
  description: string;
  headers: Record<string, { $ref: string }>;
  content: Record<string, { schema?: JsonSchema; example?: object }>;
}

function success({ docs: { answer, otherAnswers = [] }, idempotent }: Endpoint): Record<string, ResponseDocs> {
  const more = idempotent ? [optional('Idempotency-Replayed')] : [];
  return Object.fromEntries([answer, ...otherAnswers].map((each) => [each.status, toResponse(each, more)]));
}

function toResponse({ description, body, isFile, isStream }: AnswerDocs, moreHeaders: readonly string[]): ResponseDocs {
  if (isFile)
    return { description, headers: headers([...LIMIT_HEADERS, ...FILE_HEADERS, ...moreHeaders]), content: ANY_FILE };
  if (isStream) {
    const content = { 'text/event-stream': { schema: { type: 'string' } } };
    return { description, headers: headers([...LIMIT_HEADERS, 'X-Accel-Buffering', ...moreHeaders]), content };
  }
  const fields = toJsonSchema(body);
  const schema = {
    ...fields,
    properties: { success: { const: true }, ...fields.properties },
    required: ['success', ...(fields.required ?? [])],
  };
  return { description, headers: headers([...LIMIT_HEADERS, ...moreHeaders]), content: json(schema) };
}

/** Errors by status; those with the same status differ by their message. */
function failures(codes: readonly ApiErrorCode[]): Record<string, ResponseDocs> {
  const statuses = [...new Set(codes.map((code) => API_ERRORS[code].status))].sort();
  const describe = (status: number) => codes.map((code) => API_ERRORS[code]).filter((error) => error.status === status);
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: describe(status)
          .map(({ message, cause }) => `\`${message}\`: ${cause}`)
          .join('\n\n'),
        headers: headers(failureHeaders(status, codes)),
        content: json({ $ref: '#/components/schemas/Error' }),
      },
    ]),
  );
}

/** Of whatever type its sender says. */
const ANY_FILE = { '*/*': { schema: {} } };
const FILE_HEADERS = ['Content-Disposition', 'Content-Security-Policy'];
const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

/** Statuses that may be sent before the requests of a token are counted: there are too many without one, or Redis is away. */
const BEFORE_LIMITS = new Set([429, 500, 503]);

function failureHeaders(status: number, codes: readonly ApiErrorCode[]): string[] {
  if (status === 401) return ['WWW-Authenticate'];
  const limits = BEFORE_LIMITS.has(status) ? LIMIT_HEADERS.map(optional) : LIMIT_HEADERS;
  if (status === 429 || status === 503) return [...limits, 'Retry-After'];
  const mayEnd = status === 409 && (codes.includes('idempotency_in_progress') || codes.includes('link_ended'));
  return mayEnd ? [...limits, optional('Retry-After')] : limits;
}

/** Name, in the document, of a header that is not on every answer. */
function optional(name: string): string {
  return `${name}.optional`;
}

function headers(names: readonly string[]) {
  return Object.fromEntries(
    ['X-Request-Id', ...names].map((name) => [name.replace('.optional', ''), { $ref: `#/components/headers/${name}` }]),
  );
}

function json(schema: JsonSchema, example?: object) {
  return { 'application/json': { schema, ...(example && { example }) } };
}
