import {
  addressLimitKey,
  clientVersionKeys,
  deviceKeys,
  doorbellChannel,
  queueName,
  queuePrefix,
  queuesKey,
  restOfKey,
  schemaKey,
  sendKeys,
  tokenIndexKey,
  tokenIndexPartKey,
  tokenLimitKey,
  workspaceKeys,
  workspacesKey,
} from '@gateway/contracts/redis-keys';
import { expect } from 'chai';

const space = { prefix: 'gw' };
const address = { workspace: 'main', device: 'phone-1' };

/** Each name that a table of keys gives: functions are called with all arguments that they may need. */
function namesOf(keys: object): string[] {
  return Object.values(keys).map((key) => (typeof key === 'function' ? key('a', 'b', 3) : key));
}

/** These names are in Redis: another name for the same thing loses what lies under the old one. */
describe('the keys in Redis', () => {
  it('are named as they always were', () => {
    expect([
      schemaKey(space),
      doorbellChannel(space),
      queuePrefix(space),
      queueName('sender-1'),
      queuesKey(space),
    ]).to.deep.equal([...['gw:schema', 'gw:doorbell', 'gw:q', '{sender-1}', 'gw:queues']]);
    expect([workspacesKey(space), tokenIndexKey(space), tokenIndexPartKey(space, 'k2')]).to.deep.equal([
      ...['gw:workspaces', 'gw:token-index', 'gw:token-index:k'],
    ]);
    expect(tokenLimitKey(space, 'main', 'send', 'a')).to.equal('gw:{main}:limit:send:a');
    expect(addressLimitKey(space, 'failed-tokens', 'a')).to.equal('gw:limit:failed-tokens:a');
    expect(namesOf(clientVersionKeys(space))).to.deep.equal([
      ...['gw:client-version', 'gw:client-version:refused', 'gw:client-version:trial'],
    ]);
    const { base, ...device } = deviceKeys(space, address);
    expect(base).to.equal('gw:{#34}:main/phone-1');
    const ofDevice = Object.fromEntries(
      Object.entries(device).map(([name, key]) => [name, namesOf({ key })[0]!.slice(base.length)]),
    );
    expect(ofDevice).to.include({
      ...{
        device: ':device',
        desired: ':desired',
        observed: ':observed',
        owner: ':owner',
        epoch: ':epoch',
        creds: ':creds',
      },
      ...{
        keyBucket: ':keys:a:b',
        contactIndex: ':contact-index',
        keyBuckets: ':key-buckets',
        openSends: ':open-sends',
      },
      ...{
        backlog: ':backlog',
        quarantinedCreds: ':creds:quarantined',
      },
      ...{ idempotency: ':idempotency:a:b:3', idempotencyClaim: ':idempotency-claim:a:b:3', received: ':received' },
      ...{ receivedLost: ':received:lost' },
      ...{ receivedTimes: ':received:times', restriction: ':restriction', refusedContacts: ':restriction:refused' },
      ...{
        queryEnds: ':query-ends',
        replaced: ':replaced',
        pace: ':pace',
        blobUpload: ':blob-upload:a:b',
        questions: ':questions',
        answer: ':answer:a',
      },
      ...{ contactChecks: ':contact-checks:a' },
    });
    expect(deviceKeys(space, address).idempotency('a', 'b', 0)).to.equal(`${base}:idempotency:a:b`);
    expect(sendKeys(space, address, 'tag')).to.deep.equal({
      ...{ record: `${base}:s:tag`, content: `${base}:c:tag` },
    });
    const workspace = Object.fromEntries(
      Object.entries(workspaceKeys(space, 'main')).map(([name, key]) => [name, namesOf({ key })[0]]),
    );
    expect(workspace).to.include({
      ...{
        devices: 'gw:{main}:devices',
        defaultDevice: 'gw:{main}:default-device',
        shortDeviceIds: 'gw:{main}:short-device-ids',
      },
      ...{
        token: 'gw:{main}:token:a',
        tokens: 'gw:{main}:tokens',
      },
      ...{
        optOuts: 'gw:{main}:opt-outs:a',
        optOutBuckets: 'gw:{main}:opt-out-buckets',
        optOutCount: 'gw:{main}:opt-out-count',
      },
      ...{
        idempotencyPlace: 'gw:{main}:idempotency-place:a:b',
        blobs: 'gw:{main}:blobs',
        blobSizes: 'gw:{main}:blob-sizes',
      },
      ...{ blobChunk: 'gw:{main}:blob:a:b' },
    });
  });

  it('are different for different things', () => {
    const all = [
      ...namesOf(deviceKeys(space, address)),
      ...namesOf(workspaceKeys(space, 'main')),
      ...namesOf(clientVersionKeys(space)),
    ];
    expect(new Set(all).size).to.equal(all.length);
  });

  it('are different for devices whose workspace and name only look alike', () => {
    const [one, other] = [
      { workspace: 'a-b', device: 'c' },
      { workspace: 'a', device: 'b-c' },
    ];
    expect(deviceKeys(space, one).base).not.to.equal(deviceKeys(space, other).base);
  });

  it('spread devices over 64 slots, each its fair part', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 6_400; i++) {
      const tag = /\{(.*?)\}/.exec(deviceKeys(space, { workspace: 'main', device: `phone-${i}` }).base)![1]!;
      counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
    expect(counts.size).to.equal(64);
    expect(Math.max(...counts.values())).to.be.below(150);
  });

  it('of one device lie in one slot, and say what follows its name', () => {
    const keys = [...namesOf(deviceKeys(space, address)), ...namesOf(sendKeys(space, address, 'tag'))];
    for (const key of keys) expect(/\{(.*?)\}/.exec(key)?.[1]).to.equal('#34');
    expect(restOfKey(space, 'gw:{#34}:main/phone-1:keys:session:3')).to.equal('keys:session:3');
    expect(restOfKey(space, 'gw:{main}:devices')).to.equal('devices');
    expect(restOfKey(space, 'gw:{#34}:sessions')).to.equal(undefined);
    for (const key of ['gw:schema', 'other:{main}:devices', 'gw:{main}', 'gw:x{main}:devices'])
      expect(restOfKey(space, key), key).to.equal(undefined);
  });
});
