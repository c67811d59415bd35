import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openAuthState } from '@gateway/messenger/keys/auth-state';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { Recipients } from '@gateway/messenger/sending/recipients';
import { makeSocket } from '@gateway/messenger/socket/make-socket';
import { socketSettings } from '@gateway/messenger/socket/socket-settings';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { MemoryKeyStore } from './support/memory-key-store.js';

const DEVICES = 200;
const SOCKETS = 50;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const usedBytes = () => {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

describe('what a device remembers', () => {
  it('sets little memory aside before there is anything to remember', () => {
    const before = usedBytes();
    const kept = Array.from({ length: DEVICES }, () => {
      const caches = createSessionCaches();
      return {
        caches,
        recipients: new Recipients({ caches } as unknown as ConstructorParameters<typeof Recipients>[0]),
      };
    });
    const kilobytes = (usedBytes() - before) / DEVICES / 1024;
    expect(kept.length).to.equal(DEVICES);
    expect(kilobytes, 'kB per device').to.be.below(5);
  });

  it('is not kept by the library either, nor is room for it', async () => {
    const endpoint = { url: 'ws://127.0.0.1:1', trust: { kind: 'insecure' } as const };
    const caches = createSessionCaches();
    const auth = openAuthState(undefined, { keyStore: new MemoryKeyStore(), caches, onFailure: () => {} });
    const settings = socketSettings({ endpoint, auth, caches, logger: silentLogger });
    const make = () => makeSocket(settings, { trust: endpoint.trust, onBroken: () => {} });
    const kept = [make()];
    const before = usedBytes();
    while (kept.length <= SOCKETS) kept.push(make());
    const kilobytes = (usedBytes() - before) / SOCKETS / 1024;
    await Promise.all(kept.map((sock) => sock.end(undefined)));
    expect(kilobytes, 'kB per socket').to.be.below(100);
  });
});
