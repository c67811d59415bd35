import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { expect } from 'chai';

/** What a full upload of a stock client holds. */
const PRE_KEYS = 812;

describe('what things weigh', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');

  const usedBytes = () => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };

  /** Bytes for each of `count` things, all of which stay. */
  function weigh(count: number, make: (index: number) => unknown): number {
    const before = usedBytes();
    for (let index = 0; index < count; index += 1) make(index);
    return (usedBytes() - before) / count;
  }

  it('nothing, for a million numbers that nobody wrote to', async () => {
    const { network, close } = await startSimulator();
    const { directory, phones } = network;
    const bytes = weigh(1_000_000, (index) => {
      const number = String(4_915_000_000_000 + index);
      const { number: back } = directory.resolve(directory.jidOf(number, 'lid'))!;
      if (back !== number || !directory.exists(number)) throw new Error(number);
    });
    expect(bytes).to.be.below(1);
    expect(phones.size).to.equal(0);
    await close();
  });

  it('less than 3 kB, for a phone without a session', async () => {
    const { network, close } = await startSimulator();
    expect(weigh(20_000, (index) => network.phones.phone(String(4_915_000_000_000 + index)))).to.be.below(3_000);
    await close();
  });

  it('less than 100 kB, for a linked client with all its keys', async () => {
    const { network, close } = await startSimulator();
    const key = (fill: number) => Buffer.alloc(32, fill);
    const bytes = weigh(500, (index) => {
      const account = network.accounts.ensure(String(4_915_000_000_000 + index));
      const signedPreKey = { keyId: 1, publicKey: key(1), signature: Buffer.alloc(64) };
      const keys = { noiseKey: key(2), identity: key(3), registrationId: 1, signedPreKey };
      const device = account.addDevice({ id: account.takeDeviceId(), platform: 'test', atMs: 0 }, keys);
      device.preKeys.add(Array.from({ length: PRE_KEYS }, (_, keyId) => ({ keyId, publicKey: key(4) })));
    });
    expect(bytes).to.be.below(100_000);
    await close();
  });
});
