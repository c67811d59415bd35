const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** A date and time of RFC 3339 that there is, in Unix ms. The parser of JavaScript also takes 30 February, and times that have no zone. */
export function parseTime(text: string): number | undefined {
  const [whole, fields] = RFC_3339.exec(text.toUpperCase()) ?? [];
  if (whole === undefined) return undefined;
  const fieldsMs = Date.parse(`${fields}Z`);
  const exists = !Number.isNaN(fieldsMs) && new Date(fieldsMs).toISOString().startsWith(fields!);
  return exists ? Date.parse(whole) : undefined;
}
