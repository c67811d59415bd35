import { wakeOwner } from '@gateway/api/sends/wake-owner';
import type { Doorbell } from '@gateway/contracts/doorbell';
import type { MessageId } from '@gateway/contracts/ids';
import { sleep } from '@gateway/runtime/clock';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useTestApi } from './support/use-test-api.js';

describe('the owner of a device', () => {
  const { api, space } = useTestApi({ once: true, linked: true, waits: { otpMs: 20 } });

  it('hears of a code by a doorbell, too, and of a list by its queue alone', async () => {
    const listener = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
    const bells: Doorbell[] = [];
    listener.on((bell) => void bells.push(bell));
    const list = await api.call('POST', '/send', { json: { to: '447700900001', text: 'hello' } });
    expect(list.status).to.equal(202);
    const headers = { 'x-request-id': 'code-1' };
    const { body } = await api.call('POST', '/otp', { json: { phone: '447700900001', code: '123456' }, headers });
    const { messageId } = (body as { data: { messageId: MessageId } }).data;
    await eventually(() => bells.length > 0);
    const code = { messageId, requestId: 'code-1' };
    expect(bells).to.deep.equal([{ topic: 'codes', workspace: 'main', device: 'default', code }]);
    listener.close();
  });

  const refused = () => Promise.reject(new Error('its node is away'));
  for (const [takes, addSend] of [
    ['does not take', refused],
    ['does not take in time', () => sleep(1_000).then(refused)],
  ] as const)
    it(`hears by a doorbell of a list that its queue ${takes}`, async () => {
      const listener = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
      const bells: Doorbell[] = [];
      listener.on((bell) => void bells.push(bell));
      const address = { workspace: 'main', device: 'default' };
      const producer = { addSend, close: async () => {} };
      const messageId = `msg_${'0'.repeat(24)}` as MessageId;
      const accepted = { messageId, owner: 'sender-1', priority: 'bulk', requestId: 'r', forgotten: 0 } as const;
      const fromMs = performance.now();
      const woken = wakeOwner({ store: space.store, producer, logger: { warn: () => {} } }, address, accepted);
      await eventually(() => bells.length > 0);
      expect(performance.now() - fromMs).to.be.below(1_000);
      expect(bells).to.deep.equal([{ topic: 'sends', ...address }]);
      await woken;
      listener.close();
    });
});
