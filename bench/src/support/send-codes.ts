import { RATE_LIMITS } from '@gateway/contracts/limits';
import { makeNumbers } from '@gateway/testkit/phones';
import { makeTokens } from '../http/count-answers.js';
import { readAcceptToAckMs } from './send.js';
import type { Stage } from './stage.js';

/** Sends one-time passwords one after the other, each to another new contact, and answers with the ms from accept to ack that each took. */
export async function createCodeSender(stage: Stage, mostCodes: number): Promise<(count: number) => Promise<number[]>> {
  const tokens = Math.ceil(mostCodes / RATE_LIMITS.otp) + 1;
  const nextToken = await makeTokens(stage, tokens);
  const numbers = makeNumbers(tokens * RATE_LIMITS.otp, 90).values();
  let sent = 0;
  let authorization = '';
  const sendOne = async () => {
    // A token is used up, then the next.
    if (sent++ % RATE_LIMITS.otp === 0) authorization = `Bearer ${nextToken()}`;
    const body = { phone: numbers.next().value, code: '123456' };
    const answer = await stage.gateway.call('POST', '/otp', { body, headers: { authorization } });
    if (answer.status !== 200) throw new Error(`/otp answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return readAcceptToAckMs(stage, 'default', answer.body.data.messageId);
  };
  return async (count) => {
    const times: number[] = [];
    while (times.length < count) times.push(await sendOne());
    return times;
  };
}
