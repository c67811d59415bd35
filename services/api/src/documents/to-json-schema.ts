import type { Description, ObjectSchema } from 'joi';

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
 * the "at least one of" and "exactly one of" rules that Joi leaves out.
 */
export function toJsonSchema(schema: ObjectSchema): JsonSchema {
  const json = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }) as JsonSchema;
  const description = schema.describe();
  const fields = (description.keys ?? {}) as Record<string, Description>;
  const refused = Object.entries(fields)
    .filter(([, field]) => (field.flags as { presence?: string } | undefined)?.presence === 'forbidden')
    .map(([name]) => name);
  const properties = Object.fromEntries(
    Object.entries(json.properties ?? {})
      .filter(([name]) => !refused.includes(name))
      .map(([name, property]) => [name, { ...unwrap(property), ...choices(fields[name]) }]),
  );
  return { ...json, properties, ...choices(description, refused) };
}

/** A field that is required in some cases only comes as a choice of one. */
function unwrap(schema: JsonSchema): JsonSchema {
  const choices = schema.anyOf as JsonSchema[] | undefined;
  return choices?.length === 1 ? choices[0]! : schema;
}

/** Rules about which fields come together. */
function choices(description: Description | undefined, refused: readonly string[] = []): JsonSchemaChoice {
  const rules = (description?.dependencies ?? []) as { rel: string; peers: string[] }[];
  for (const { rel, peers } of rules) {
    const required = peers.filter((name) => !refused.includes(name)).map((name) => ({ required: [name] }));
    if (rel === 'or') return { anyOf: required };
    if (rel === 'xor') return { oneOf: required };
  }
  return {};
}
