import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { makeNumbers } from '@gateway/testkit/phones';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

describe('opt-outs that are put aside', () => {
  const logged = useLoggedEndpoint();
  const { space, stage } = logged;

  it('are none of them lost, as they wait for the first one in the order of all people', async () => {
    const tell = await logged.create({ types: ['optout.added', 'message.sent'] });
    const people = makeNumbers(WEBHOOK_LIMITS.maxParkedOfOne + 100);
    const optOut = (number: string) =>
      addOptOuts(space.store, 'main', { numbers: [number], source: 'api', atMs: Date.now() });
    stage.refuses = ({ data }) => JSON.stringify(data).includes(people[0]!);
    await optOut(people[0]!);
    for (let other = 0; other < 10; other++) {
      await logged.record(await logged.accept([`44770090${20_000 + other}`]), 'acked', 0, 1);
      await tell();
      stage.aheadMs += 60_000;
    }
    for (const person of people.slice(1)) await optOut(person);
    await tell();
    expect(stage.events.filter(({ type }) => type === 'optout.added')).to.deep.equal([]);
    stage.refuses = () => false;
    stage.aheadMs += 3_600_000;
    await tell();
    const told = stage.events.filter(({ type }) => type !== 'message.sent');
    expect(told.flatMap(({ type, data }) => [type, ...(data.phones as string[])])).to.deep.equal(
      people.flatMap((person) => ['optout.added', person]),
    );
  });
});
