import type { OpenApi, Operation } from './build-openapi.js';
import type { JsonSchema } from './to-json-schema.js';

/** The document as a page for people: no scripts, nothing loaded from elsewhere. */
export function renderPage(document: OpenApi): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const index = operations.map(
    ({ path, method, operation }) =>
      `<li><a href="#${operation.operationId}"><b>${method}</b> ${escapeHtml(path)}</a> ${escapeHtml(operation.summary)}</li>`,
  );
  const base = document.servers[0]?.url ?? '';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(document.info.title)}</title><style>${STYLE}</style></head><body>
<h1>${escapeHtml(document.info.title)}</h1>
${text(document.info.description)}
<p>The same for programs: <a href="openapi.json">openapi.json</a></p>
<ul>${index.join('')}</ul>
${operations.map(({ path, method, operation }) => section(`${method} ${base}${path}`, operation)).join('\n')}
</body></html>`;
}

const STYLE = `
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fff}
h2{margin-top:3rem;padding-top:1rem;border-top:1px solid #d8dee6}code,h2 code{background:#f0f3f6;padding:.1em .3em;border-radius:4px}
pre{overflow:auto;padding:.6rem;border:1px solid #e5e9ee}table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #e5e9ee}
@media(prefers-color-scheme:dark){body{background:#12161c;color:#dde3ea}code,h2 code{background:#232a33}a{color:#7db4ff}td,th,h2{border-color:#2b333d}}`;

function section(title: string, operation: Operation): string {
  const parameters = operation.parameters.map(({ in: place, name, required, description, schema }) => [
    code(name),
    place,
    required ? 'required' : '',
    `${typeOf(schema)}${description === undefined ? '' : `. ${inline(description)}`}`,
  ]);
  const { schema: body, example } = operation.requestBody?.content['application/json'] ?? {};
  const answers = Object.entries(operation.responses).map(([status, response]) => [
    code(status),
    inline(response.description),
  ]);
  const [, success] = Object.entries(operation.responses).find(([status]) => status.startsWith('2')) ?? [];
  return [
    `<h2 id="${operation.operationId}"><code>${escapeHtml(title)}</code></h2>`,
    text(operation.description),
    parameters.length > 0 ? `<h3>Parameters</h3>${table(parameters)}` : '',
    body
      ? `<h3>Body</h3>${ruleOf(body)
          .map((rule) => `<p>${rule}.</p>`)
          .join('')}${fields(body)}`
      : '',
    example ? `<pre>${escapeHtml(JSON.stringify(example, undefined, 2))}</pre>` : '',
    `<h3>Answer</h3>${success ? fields(success.content['application/json'].schema) : ''}`,
    `<h3>Statuses</h3>${table(answers)}`,
  ].join('\n');
}

function fields(schema: JsonSchema): string {
  return table(rowsOf(schema, ''));
}

/** A row for each field, those of objects inside it below it, by their whole path. */
function rowsOf({ properties = {}, required = [] }: JsonSchema, path: string): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inner = (schema.items as JsonSchema | undefined) ?? schema;
    const about = [
      typeOf(schema),
      ...ruleOf(schema),
      ...(schema.description === undefined ? [] : [inline(schema.description)]),
    ];
    return [
      [code(path + name), required.includes(name) ? 'required' : '', about.join('. ')],
      ...rowsOf(inner, `${path}${name}${schema.type === 'array' ? '[]' : ''}.`),
    ];
  });
}

/** Which of its fields an object must have, where there is a choice. */
function ruleOf({ oneOf, anyOf }: JsonSchema): string[] {
  const names = ((oneOf ?? anyOf) as JsonSchema[] | undefined)?.flatMap(({ type, required = [] }) =>
    type ? [] : required,
  );
  if (!names?.length) return [];
  return [`${oneOf ? 'Exactly' : 'At least'} one of ${names.map(code).join(' and ')}`];
}

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return code(String(schema.const));
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => code(String(value))).join(' ');
  const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (choices && schema.type !== 'object') return [...new Set(choices.map(typeOf))].join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items as JsonSchema)}`;
  const range = [schema.minimum ?? schema.minLength, schema.maximum ?? schema.maxLength].filter(
    (end) => end !== undefined,
  );
  return `${escapeHtml(String(schema.type ?? 'any'))}${range.length === 2 ? `, ${range.join(' to ')}` : ''}`;
}

const table = (rows: string[][]) =>
  `<table>${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')}</table>`;
const code = (name: string) => `<code>${escapeHtml(name)}</code>`;
const inline = (markdown: string) =>
  escapeHtml(markdown)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n\n', '<br>');
const text = (markdown: string) =>
  markdown
    .split(/\n\n+/)
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n');

function escapeHtml(value: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return value.replace(/[&<>"]/g, (character) => entities[character]!);
}
