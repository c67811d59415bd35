import { buildOpenApi } from '@gateway/api/documents/build-openapi';
import { BASE_PATH, ENDPOINTS } from '@gateway/api/endpoints';
import { API_ERRORS } from '@gateway/contracts/errors';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

const document = buildOpenApi(ENDPOINTS, BASE_PATH);
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
ajv.addSchema(document, 'openapi');
const validators = new Map<string, ValidateFunction>();

/**
 * Throws when an answer is not what the OpenAPI document says: an unknown status, another shape of the body, or without
 * the headers it promises, or with others. Every answer that the tests get comes past here.
 */
export function checkAnswer(
  method: string,
  path: string,
  answer: { status: number; headers: Headers; body: unknown },
): void {
  const name = `${method} ${path.split('?')[0]} -> ${answer.status}`;
  const pointer = findResponse(method, path.split('?')[0]!, answer.status);
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
  validators.set(pointer, validate);
  if (!validate(answer.body)) throw new Error(`${name} breaks the document: ${ajv.errorsText(validate.errors)}`);
  const promised = findOperation(method, path.split('?')[0]!)?.operation.responses[answer.status]?.headers;
  const required = Object.entries(promised ?? {}).filter(([, { $ref }]) => isRequired($ref));
  const { error } = answer.body as { error?: string };
  const wanted = [
    'X-Request-Id',
    ...required.map(([each]) => each),
    ...(mustWait(answer.status, error) ? ['Retry-After'] : []),
  ];
  for (const each of wanted) if (!answer.headers.get(each)) throw new Error(`${name} has no ${each}`);
  const known = new Set([...OF_HTTP, ...Object.keys(promised ?? {}).map((each) => each.toLowerCase())]);
  const unknown = promised ? [...answer.headers.keys()].filter((each) => !known.has(each)) : [];
  if (unknown.length > 0) throw new Error(`${name} has headers that the document does not know: ${unknown}`);
}

/** Throws when an event is not what the OpenAPI document says of its type. */
export function checkEvent(event: GatewayEvent): void {
  const { type } = event;
  const pointer = `/webhooks/${type}/post/requestBody/content/application~1json/schema`;
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
  validators.set(pointer, validate);
  if (!validate(event as unknown)) throw new Error(`${type} breaks the document: ${ajv.errorsText(validate.errors)}`);
}

function isRequired(reference: string): boolean {
  const { headers } = document.components as { headers: Record<string, { required?: boolean }> };
  return headers[reference.split('/').at(-1)!]?.required ?? false;
}

function mustWait(status: number, error: string | undefined): boolean {
  return [429, 503].includes(status) || error === API_ERRORS.idempotency_in_progress.message;
}

/** What every server says. */
const OF_HTTP = [
  'transfer-encoding',
  'content-type',
  'content-length',
  'cache-control',
  'x-content-type-options',
  'date',
  'connection',
  'keep-alive',
];

const ERROR = '/components/schemas/Error';

function findResponse(method: string, path: string, status: number): string {
  const found = findOperation(method, path);
  // Unknown paths and methods are no operations of the document; their answers have its shape of errors.
  if (status === 405 || (status === 404 && !found?.template.includes('{'))) return ERROR;
  if (!found) {
    if ([401, 429, 503].includes(status)) return ERROR;
    throw new Error(`${method} ${path} -> ${status} is not in the document`);
  }
  const { template, operation } = found;
  if (!operation.responses[status]) throw new Error(`${method} ${template} has no answer ${status} in the document`);
  const [type] = Object.keys(operation.responses[status].content);
  const steps = ['paths', template, method.toLowerCase(), 'responses', String(status), 'content', type!, 'schema'];
  return `/${steps.map((step) => encodeURIComponent(step.replace(/~/g, '~0').replace(/\//g, '~1'))).join('/')}`;
}

function findOperation(method: string, path: string) {
  const template = Object.keys(document.paths).find((known) => toPattern(known).test(path));
  const operation = template && document.paths[template]?.[method.toLowerCase() as 'get'];
  return template && operation ? { template, operation } : undefined;
}

function toPattern(template: string): RegExp {
  return new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);
}
