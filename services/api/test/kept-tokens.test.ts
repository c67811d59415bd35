import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { GatewayError } from '@gateway/runtime/errors';
import { isCluster, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import type { Connections } from '@gateway/runtime/redis/server-of';
import type { Store } from '@gateway/store/core/store';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useTestApi } from './support/use-test-api.js';

const DEFAULT = { workspace: 'main', device: 'default' };
const TO = '447700900123';
const ENDPOINTS = {
  '/send': { to: TO, text: 'hello' },
  '/otp': { phone: TO, code: '1234' },
};

describe('sends of a token, where replicas are waited for', () => {
  const { api } = useTestApi({ linked: true, waits: { otpMs: 50 } });
  /** Questions to replicas of the master of the workspace. */
  let asked: Connections[];
  let confirms: boolean;
  let workspaceKey: string;
  beforeEach(() => {
    [asked, confirms] = [[], true];
    workspaceKey = workspaceKeys(api.store.space, 'main').devices;
    const confirmWrites: Store['confirmWrites'] = async (key, since) => {
      if (key !== workspaceKey) return;
      asked.push(since!);
      // As the real one: what was read by another connection is not confirmed.
      const isSame = since!.has(masterOfKey(api.store.redis, key).stream);
      if (!confirms || !isSame) throw new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
    };
    Object.assign(api.store, { asksReplicas: true, confirmWrites });
  });
  const send = (path: keyof typeof ENDPOINTS = '/send') => api.call('POST', path, { json: ENDPOINTS[path] });

  for (const path of ['/send', '/otp'] as const) {
    it(`are accepted once those of the master that has the token confirm, on a Cluster (${path})`, async () => {
      confirms = false;
      const { status, body } = await send(path);
      if (!isCluster(api.store.redis)) {
        expect(status, 'one master, which is confirmed with the send').to.equal(202);
        return expect(asked).to.deep.equal([]);
      }
      expect([status, body.error]).to.deep.equal([503, 'Service unavailable']);
      expect(await listOpenSends(api.store, DEFAULT)).to.deep.equal([]);
      confirms = true;
      expect((await send(path)).status).to.equal(202);
      return expect(asked).to.have.length(2);
    });
  }

  it('are refused where another master came after the token was read, and accepted once it is read there', async function () {
    if (!isCluster(api.store.redis)) this.skip();
    expect((await send()).status).to.equal(202);
    const { redis } = api.store;
    const { stream } = masterOfKey(redis, workspaceKey);
    stream.destroy();
    await eventually(async () => {
      await redis.exists(workspaceKey);
      const node = masterOfKey(redis, workspaceKey);
      return node.status === 'ready' && node.stream !== stream;
    });
    const { status } = await send();
    expect(status).to.equal(503);
    expect(await listOpenSends(api.store, DEFAULT)).to.have.length(1);
    expect((await send()).status).to.equal(202);
  });

  it('are the only requests that ask', async () => {
    confirms = false;
    expect((await api.call('GET', '/devices')).status).to.equal(200);
    expect(asked).to.deep.equal([]);
  });
});
