import type { Description, ObjectSchema } from 'joi';

export interface JsonSchema {
  type?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  [keyword: string]: unknown;
}

/**
 * The JSON Schema of a Joi schema, for the documents: Joi's own, without the fields that are refused anyway, and with
 * the "at least one of" rules that Joi leaves out.
 */
export function toJsonSchema(schema: ObjectSchema): JsonSchema {
  const json = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }) as JsonSchema;
  const description = schema.describe();
  const refused = Object.entries((description.keys ?? {}) as Record<string, Description>)
    .filter(([, field]) => (field.flags as { presence?: string } | undefined)?.presence === 'forbidden')
    .map(([name]) => name);
  const properties = Object.fromEntries(
    Object.entries(json.properties ?? {})
      .filter(([name]) => !refused.includes(name))
      .map(([name, property]) => [name, unwrap(property)]),
  );
  return { ...json, properties, ...oneOfSeveral(description, refused) };
}

/** A field that is required in some cases only comes as a choice of one. */
function unwrap(schema: JsonSchema): JsonSchema {
  const choices = schema.anyOf as JsonSchema[] | undefined;
  return choices?.length === 1 ? choices[0]! : schema;
}

function oneOfSeveral(description: Description, refused: string[]): { anyOf?: JsonSchema[] } {
  const rules = (description.dependencies ?? []) as { rel: string; peers: string[] }[];
  const rule = rules.find(({ rel }) => rel === 'or');
  if (!rule) return {};
  return { anyOf: rule.peers.filter((name) => !refused.includes(name)).map((name) => ({ required: [name] })) };
}
