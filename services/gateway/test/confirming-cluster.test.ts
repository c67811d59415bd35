import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const ACCOUNT = '491700000971';
const PERSON = '491520000971';

describe('a gateway on a Cluster whose replicas confirm what is promised', () => {
  const env = { REDIS_WAIT_REPLICAS: '1' };
  const { gateway, send, shown } = useGateway({ ownCluster: { replicas: 1 }, readyMs: 90_000, env });

  it('starts, links a device, and sends', async () => {
    await gateway.link(ACCOUNT);
    const messageId = await send([PERSON], 'hello');
    await gateway.waitForSend(messageId, { read: 1 });
    expect(shown(ACCOUNT)).to.deep.equal([PERSON]);
  });
});
