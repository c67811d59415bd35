import { NetworkRefusalError } from '../session/session-errors.js';
import { type BaileysSocket, type BinaryNode, getBinaryNodeChild, S_WHATSAPP_NET } from '../socket/baileys.js';

/** A stored query of the network's GraphQL service. */
export interface MexQuestion {
  queryId: string;
  variables: object;
  /** The field of the answer's `data` that is wanted. */
  field: string;
}

const WITHOUT_CODE = 400;

/**
 * The fields of one GraphQL answer. Rejects with `NetworkRefusalError` when the service refused, with the code that it
 * gave, or answered with anything but an object; and with what the library throws for an error node or for silence.
 */
export async function askMex(sock: BaileysSocket, question: MexQuestion): Promise<Record<string, unknown>> {
  const { queryId, variables, field } = question;
  const answer: BinaryNode | undefined = await sock.query({
    tag: 'iq',
    attrs: { to: S_WHATSAPP_NET, type: 'get', xmlns: 'w:mex' },
    content: [{ tag: 'query', attrs: { query_id: queryId }, content: Buffer.from(JSON.stringify({ variables })) }],
  });
  const { data, errors } = readResult(answer);
  const [error] = Array.isArray(errors) ? errors : [];
  if (error) throw new NetworkRefusalError(codeOf(error));
  const value: unknown = asObject(data)?.[field];
  const fields = asObject(value);
  if (!fields) throw new NetworkRefusalError(WITHOUT_CODE);
  return fields;
}

function readResult(answer: BinaryNode | undefined): Record<string, unknown> {
  const content = getBinaryNodeChild(answer, 'result')?.content;
  if (!content) throw new NetworkRefusalError(WITHOUT_CODE);
  try {
    return asObject(JSON.parse(content.toString())) ?? {};
  } catch {
    throw new NetworkRefusalError(WITHOUT_CODE);
  }
}

function codeOf(error: unknown): number {
  const { error_code: code } = asObject(asObject(error)?.extensions) ?? {};
  return Number(code) > 0 ? Number(code) : WITHOUT_CODE;
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
