interface CurlInput {
  apiUrl: string;
  key: string;
  to: readonly string[];
  text: string;
  file: File | null;
}

const SHOWN = 3;

/** The same as a line for a terminal: of a long list the first numbers, of a file its place. */
export function toCurl({ apiUrl, key, to, text, file }: CurlInput): string {
  const body = {
    to: to.length > SHOWN ? [...to.slice(0, SHOWN), '…'] : to,
    ...(text !== '' && { text }),
    ...(file && { attachment: { type: 'document', base64: '…', filename: file.name } }),
  };
  // A quote ends what the shell takes as it is written, and begins it again.
  const json = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  return [
    `curl -X POST ${apiUrl}/api/messenger/v1/send`,
    `-H "Authorization: Bearer $TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-H 'Idempotency-Key: ${key}'`,
    `-d '${json}'`,
  ].join(' \\\n  ');
}
