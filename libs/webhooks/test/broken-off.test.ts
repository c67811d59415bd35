import type { ServerResponse } from 'node:http';
import { changeWebhook } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

/** Round trips to Redis: more than a delivery takes to end. */
const A_WHILE = 30;

describe('a delivery of several requests at a time of which one cannot be made', () => {
  const endpoint = useEndpoint();

  it('ends when those under way are answered, and begins no other', async () => {
    const { redis } = endpoint.space.store;
    Object.assign(endpoint, { keyOf: (number: number) => `person ${number}`, isAlone: true });
    await changeWebhook(endpoint.space.store, 'main', endpoint.id, { settings: { concurrency: 2 } });
    await endpoint.write(1, 2, 3);
    let isUnderWay = false;
    let held: ServerResponse | undefined;
    endpoint.answer = (request, res) => {
      if (request > 0) return 204;
      [held, isUnderWay] = [res, true];
      return undefined;
    };
    const answerLater = async () => {
      for (let i = 0; i < A_WHILE; i++) await redis.ping();
      isUnderWay = false;
      held!.writeHead(204).end();
    };
    endpoint.make = async ([number]) => {
      if (number !== 2) return;
      await eventually(() => isUnderWay);
      void answerLater();
      throw new Error('Redis is away');
    };
    const thrown = await endpoint.deliver().catch((error: unknown) => error);
    endpoint.make = async () => {};
    expect(thrown).to.be.an('error').with.property('message', 'Redis is away');
    expect(isUnderWay, 'is under way').to.equal(false);
    expect(endpoint.received.map(({ numbers }) => numbers)).to.deep.equal([[1]]);
    expect(await endpoint.deliverAll()).to.equal('quiet');
    expect(endpoint.received.flatMap(({ numbers }) => numbers)).to.deep.equal([1, 1, 2, 3]);
  });
});
