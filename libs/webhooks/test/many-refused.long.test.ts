import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

const STEP_S = 5;
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i);

describe('an endpoint that refuses many recipients, and takes others', () => {
  const endpoint = useEndpoint();
  let refused: number[];
  beforeEach(() => {
    endpoint.keyOf = (number) => `k${number}`;
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((each) => refused.includes(each)) ? 422 : 204);
  });

  /** All the while something happens to others, too. Answers after how many seconds it was done. */
  async function rest(seconds: number, isDone = () => false): Promise<number> {
    for (let second = 0; second < seconds; second += STEP_S) {
      await endpoint.write(10_000 + endpoint.received.length);
      await endpoint.deliverAll();
      if (isDone()) return second;
      endpoint.nowMs += STEP_S * 1_000;
    }
    return seconds;
  }

  /** A batch of which one is refused. */
  async function secondsUntilOthersAreTold(): Promise<number> {
    const others = numbers(20, 200);
    refused.push(999);
    await endpoint.write(...others, 999);
    return rest(3_600, () => others.every((number) => endpoint.told.includes(number)));
  }

  for (const count of [1, 10, 16, 24]) {
    it(`is told of the others of a later batch within 90 s: after ${count} small sends that it refused`, async () => {
      refused = numbers(count);
      for (const number of refused) {
        await endpoint.write(number);
        await rest(60);
      }
      expect(await secondsUntilOthersAreTold()).to.be.at.most(90);
    });
  }

  it('is told of the others of a later batch within 90 s: after a list of which it refused all', async () => {
    refused = numbers(20);
    await endpoint.write(...refused);
    await rest(600);
    expect(await secondsUntilOthersAreTold()).to.be.at.most(90);
  });

  it('is told of all at once that are replayed, when it takes them', async () => {
    const recipients = numbers(24);
    refused = recipients;
    await endpoint.write(...numbers(40));
    await rest(1_200);
    refused = [];
    await replayWebhook(
      endpoint.space.store,
      { workspace: 'main', id: endpoint.id },
      { ids: recipients.map(String) },
      endpoint.nowMs,
    );
    await endpoint.deliverAll();
    expect(endpoint.told).to.include.members(recipients);
  });
});
