import { RedisHeadroom } from '@gateway/api/sends/redis-headroom';
import { SHARDS } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import type { Capacity } from '@gateway/store/core/capacity';
import { makePdf } from '@gateway/testkit/sample-files';
import { expect } from 'chai';
import { useTestApi } from './support/use-test-api.js';

const PHONE = '447700900001';

describe('a file on a Cluster', () => {
  const room = (usedBytes: number) => ({ usedBytes, limitBytes: 1_000_000_000, queuedMessages: new Map() });
  /** The node of all devices, beside one that has what belongs to none. */
  const empty = room(0);
  const capacity: Capacity = {
    ...{ ...room(860_000_000), workspaces: ['default', 'main'], fileBytes: 0, backlogLimits: new Map() },
    ofShards: Array.from({ length: SHARDS }, () => empty),
  };
  const { api } = useTestApi({ linked: true, headroom: new RedisHeadroom(async () => capacity, systemClock) });

  it('is not taken while the fullest node is full, where its device has room', async () => {
    const text = await api.call('POST', '/send', { json: { to: PHONE, text: 'hello' } });
    expect(text.status).to.equal(202);
    const attachment = { type: 'document', base64: makePdf().toString('base64') };
    const file = await api.call('POST', '/send', { json: { to: PHONE, attachment } });
    expect(file.status).to.equal(503);
    expect(file.headers.get('retry-after')).to.equal('30');
  });
});
