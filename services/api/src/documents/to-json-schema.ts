import type { ObjectSchema, Schema } from 'joi';

export interface JsonSchema {
  type?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  [keyword: string]: unknown;
}

type JsonSchemaChoice = { anyOf?: JsonSchema[]; oneOf?: JsonSchema[] };

/**
 * The JSON Schema of a Joi schema, for the documents: Joi's own, without the fields that are refused anyway, and with
 * the "at least one of" and "exactly one of" rules that Joi leaves out. These are read where Joi keeps them: what `describe()`
 * tells it first checks itself, which takes most of the time of a start. Throws for a pattern that would mean something else in the document.
 */
export function toJsonSchema(schema: ObjectSchema): JsonSchema {
  refuseFlags(schema as unknown as Inside);
  const json = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }) as JsonSchema;
  const keys: { key: string; schema: Schema }[] = schema.$_terms.keys ?? [];
  const fields = new Map(keys.map((each) => [each.key, each.schema]));
  const refused = keys.filter((each) => each.schema.$_getFlag('presence') === 'forbidden').map(({ key }) => key);
  const properties = Object.fromEntries(
    Object.entries(json.properties ?? {})
      .filter(([name]) => !refused.includes(name))
      .map(([name, property]) => [name, { ...unwrap(property), ...choices(fields.get(name)) }]),
  );
  return { ...json, properties, ...choices(schema, refused) };
}

/** A field that is required in some cases only comes as a choice of one. */
function unwrap(schema: JsonSchema): JsonSchema {
  const choices = schema.anyOf as JsonSchema[] | undefined;
  return choices?.length === 1 ? choices[0]! : schema;
}

/** What of a schema Joi's own types do not have, or have wrong. */
interface Inside {
  _rules: { args?: { regex?: RegExp } }[];
  $_terms: { patterns?: { regex?: RegExp }[] | null };
  $_modify(options: { each: (inner: Inside) => void; ref: false }): void;
}

/** Joi leaves out the flags of patterns. Readers of JSON Schema take each as if it had `u`. */
function refuseFlags(schema: Inside): void {
  const ofRules = schema._rules.map(({ args }) => args?.regex);
  const ofNames = (schema.$_terms.patterns ?? []).map(({ regex }) => regex);
  for (const pattern of [...ofRules, ...ofNames]) {
    if (pattern?.flags.replace('u', '')) throw new Error(`${pattern} has flags, which the document cannot say`);
  }
  schema.$_modify({ each: refuseFlags, ref: false });
}

/** Rules about which fields come together. */
function choices(schema: Schema | undefined, refused: readonly string[] = []): JsonSchemaChoice {
  const rules: { rel: string; peers: { path: string[] }[] }[] = schema?.$_terms.dependencies ?? [];
  for (const { rel, peers } of rules) {
    const names = peers.map(({ path }) => path.join('.'));
    const required = names.filter((name) => !refused.includes(name)).map((name) => ({ required: [name] }));
    if (rel === 'or') return { anyOf: required };
    if (rel === 'xor') return { oneOf: required };
  }
  return {};
}
