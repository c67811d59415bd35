import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { Pool } from 'undici';
import type { Stage } from '../support/stage.js';

const CALLERS = 32;
/** How long requests are counted. */
export const MEASURE_MS = 2_000;
const TOKENS_AT_A_TIME = 500;

export interface Requests {
  port: number;
  method: 'GET' | 'POST';
  path: string;
  /** Sent as JSON. */
  body?: object;
  /** Its answer when all is well. */
  status: number;
  /** A token for so many requests, and then another. */
  tokens?: { next(): string; uses: number };
}

/** Good answers per second for a number of callers without pauses. */
export async function countAnswers({ port, method, path, body, status, tokens }: Requests): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CALLERS, pipelining: 1 });
  const text = body === undefined ? null : JSON.stringify(body);
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const startedMs = performance.now();
  let answers = 0;
  const askOn = async () => {
    let uses = 0;
    const take = () => (tokens ? `Bearer ${tokens.next()}` : '');
    let authorization = take();
    while (performance.now() - startedMs < MEASURE_MS) {
      if (tokens && uses++ === tokens.uses) [uses, authorization] = [1, take()];
      const answer = await pool.request({ path, method, headers: { authorization, ...type }, body: text });
      await answer.body.dump();
      if (answer.statusCode === status) answers++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, askOn));
  const seconds = (performance.now() - startedMs) / 1000;
  await pool.close();
  return answers / seconds;
}

/** Where the API listens. */
export function apiPort({ gateway }: Stage): number {
  return Number(gateway.logs().find(({ message }) => message === 'api listens')!.port);
}

/** Tokens of the device `default`, straight into the store: the command line would need minutes for so many. */
export async function makeTokens({ space }: Stage, count: number): Promise<() => string> {
  const made: string[] = [];
  const make = async () => (await createApiToken(space.store, 'main', { name: 'bench', device: 'default' })).value;
  while (made.length < count)
    made.push(...(await Promise.all(Array.from({ length: Math.min(TOKENS_AT_A_TIME, count) }, make))));
  return () => {
    const token = made.pop();
    if (!token) throw new Error('there are not enough tokens for so many requests');
    return token;
  };
}
