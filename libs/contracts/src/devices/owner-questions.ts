/**
 * Questions of other processes to the owner of a device, which only its socket can answer. Asked through Redis: a question in
 * the device's slot, a doorbell, an answer that lives for seconds. Nothing is lost with a lost question but the answer.
 */
export type OwnerQuestion =
  | { kind: 'contacts' /** Digits. */; numbers: readonly string[] }
  /** State of the session: for `device doctor`. */
  | { kind: 'session' }
  /** Traffic of the socket from now on, redacted. */
  | { kind: 'trace'; seconds: number }
  /** A file that a person sent, which the network has not any more: the account's phone may have it. */
  | ({ kind: 'file' } & FileQuestion)
  /** Everything that is kept about a person is to go, also from memory: for `person forget`. Digits. */
  | { kind: 'forget'; number: string };

/** The message with the file, its writer at the network, and its key in base64. */
export interface FileQuestion {
  platformId: string;
  jid: string;
  mediaKey: string;
}

/** `null`: the phone does not have it either. There is no answer while the phone says nothing. */
export interface FileAnswer {
  directPath: string | null;
}

/** What the owner knows about one number; `null` if the network did not answer. */
export interface ContactFacts {
  onMessenger: boolean | null;
  hasConversation: boolean | null;
}

/** An answer about contacts comes in parts of this size, in the order of the numbers, so that partial results are not lost. */
export const CONTACTS_PER_PART = 100;

/** As long as an answer is waited for. */
export const MAX_TRACE_SECONDS = 15;
const NUMBER = /^\d{7,15}$/;

/** `undefined` for kinds that this version does not know. */
export function parseOwnerQuestion(text: string): OwnerQuestion | undefined {
  const question = parseJson(text) as
    | Partial<Record<'kind' | 'numbers' | 'seconds' | 'number' | keyof FileQuestion, unknown>>
    | null
    | undefined;
  if (question?.kind === 'session') return { kind: 'session' };
  if (question?.kind === 'trace') return parseTrace(question.seconds);
  if (question?.kind === 'forget') return parseForget(question.number);
  if (question?.kind === 'file') return parseFile(question);
  if (question?.kind !== 'contacts' || !Array.isArray(question.numbers)) return undefined;
  const numbers: unknown[] = question.numbers;
  const areNumbers = numbers.every((number) => typeof number === 'string' && NUMBER.test(number));
  return areNumbers ? { kind: 'contacts', numbers: numbers as string[] } : undefined;
}

function parseTrace(seconds: unknown): OwnerQuestion | undefined {
  const isLength = typeof seconds === 'number' && seconds > 0 && seconds <= MAX_TRACE_SECONDS;
  return isLength ? { kind: 'trace', seconds } : undefined;
}

function parseForget(number: unknown): OwnerQuestion | undefined {
  return typeof number === 'string' && NUMBER.test(number) ? { kind: 'forget', number } : undefined;
}

function parseFile({ platformId, jid, mediaKey }: Partial<Record<keyof FileQuestion, unknown>>) {
  const [id, from, key] = [platformId, jid, mediaKey].map((value) => (typeof value === 'string' ? value : ''));
  return id && from && key ? ({ kind: 'file', platformId: id, jid: from, mediaKey: key } as const) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
