import type { AnySchema } from 'joi';

/**
 * The names of the fields of an object, none for anything else. As Joi keeps them: `describe()` checks what it tells against a schema
 * of schemas, which alone takes a tenth of a second when a process starts.
 */
export function listFields(schema: AnySchema): string[] {
  const fields: { key: string }[] = schema.$_terms.keys ?? [];
  return fields.map(({ key }) => key);
}
