import { randomUUID } from 'node:crypto';

const PAUSE_MS = 250;
/** As long as Redis and all processes may be away on a busy machine. */
const PATIENCE_MS = 330_000;

interface Request {
  method?: 'GET' | 'POST' | 'DELETE';
  token: string;
  body?: unknown;
}

/**
 * A careful client: it repeats a request under one idempotency key until it has an answer, and waits for as long as it is told to,
 * as the API's documents say: repeats count towards its limits. What it got a 2xx for was promised.
 */
export async function callUntilAnswered(
  bases: readonly string[],
  path: string,
  request: Request,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const key = randomUUID();
  const deadline = performance.now() + PATIENCE_MS;
  let last: Awaited<ReturnType<typeof call>>;
  for (let tries = 0; performance.now() < deadline; tries++) {
    const answer = await call(bases[tries % bases.length]! + path, { ...request, key });
    if (answer && answer.status !== 409 && answer.status !== 429 && answer.status < 500) return answer;
    last = answer ?? last;
    await new Promise((resolve) => setTimeout(resolve, answer?.retryAfterMs ?? PAUSE_MS));
  }
  throw new Error(`no answer to ${request.method ?? 'POST'} ${path}; the last one was ${JSON.stringify(last)}`);
}

async function call(url: string, { method = 'POST', token, body, key }: Request & { key: string }) {
  try {
    const response = await fetch(url, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
      signal: AbortSignal.timeout(15_000),
    });
    const seconds = response.headers.get('retry-after');
    return {
      status: response.status,
      body: (await response.json()) as Record<string, unknown>,
      ...(seconds && { retryAfterMs: Number(seconds) * 1_000 }),
    };
  } catch {
    return undefined;
  }
}
