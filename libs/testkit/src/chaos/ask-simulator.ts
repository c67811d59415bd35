import type { Simulator } from '@gateway/simulator/start-simulator';

interface Question {
  method: 'PUT' | 'POST';
  body: object;
}

/**
 * Over HTTP, until it is answered: on a busy machine a kept connection may end just when it is used. Only what may come
 * twice is asked so.
 */
export async function askSimulator(
  { adminUrl }: Pick<Simulator, 'adminUrl'>,
  path: string,
  { method, body }: Question,
): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const init = { method, headers, body: JSON.stringify(body) };
  for (;;) {
    const response = await fetch(`${adminUrl}/admin/${path}`, init).catch(() => undefined);
    if (response && !response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    if (response) return void (await response.body?.cancel());
  }
}
