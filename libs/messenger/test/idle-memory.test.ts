import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { Recipients } from '@gateway/messenger/sending/recipients';
import { expect } from 'chai';

const DEVICES = 200;

describe('what a device remembers', () => {
  it('sets little memory aside before there is anything to remember', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const usedBytes = () => {
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
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
});
