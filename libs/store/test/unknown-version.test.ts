import { EVENT_ENTRY_VERSION } from '@gateway/contracts/events/entry';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { RECORD_VERSION } from '@gateway/contracts/sends/send-layout';
import type { Script } from '@gateway/store/core/scripts/define-script';
import { UnknownVersionError } from '@gateway/store/core/scripts/unknown-version-error';
import { SEALED_VERSION } from '@gateway/store/core/vault';
import { ensureDevice } from '@gateway/store/devices/devices';
import {
  bucketOf,
  deviceKeyStore,
  findUnusedKeys,
  forgetIdentities,
  forgetSession,
} from '@gateway/store/devices/keys/device-keys';
import { takeAccount } from '@gateway/store/devices/take-account';
import { readEntries, readLog } from '@gateway/store/events/read-log';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient, forgetRecipient, recordResults } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { sessionKeyOf } from '@gateway/testkit/ownership';
import { allScripts } from '@gateway/testkit/redis-servers/all-scripts';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { takeInSend } from '@gateway/testkit/sends/take-in-send';
import { expect } from 'chai';
import { everything } from './support/everything.js';
import { useOwnedDevice } from './support/use-owned-device.js';

const HOUR_MS = 3_600_000;
const PHONE = '4915112345670';
/** Makes a record, where there was none. */
const MAKES_RECORD = 'accept-send';

/** In a rolling upgrade a process meets records of versions that it does not know. */
describe('a send that another version of the gateway has written', () => {
  const { address, space, ownership } = useOwnedDevice();
  const nowMs = Date.now();
  const device = () => deviceKeys(space.store.space, address);
  const keysOf = (messageId: string) => sendKeys(space.store.space, address, parseMessageId(messageId)!.tag);
  beforeEach(() => ensureDevice(space.store, address));

  async function accept(options: { kind?: 'text' | 'otp'; quotaBytes?: number } = {}): Promise<string> {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: [PHONE] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + HOUR_MS, ...options },
    });
    return messageId;
  }
  const setVersion = (messageId: string, version = RECORD_VERSION + 1) =>
    rewriteHead(space.store, address, messageId, { version });
  const settle = (messageId: string) =>
    recordResults(space.store, ownership, {
      ...{ tag: parseMessageId(messageId)!.tag, nowMs },
      events: [{ recipient: 0, part: 0, event: 'acked' }],
    });

  function runOn(messageId: string, { name, keys, isFenced }: Script): Promise<unknown> {
    const known: Record<string, string> = { ...device(), ...keysOf(messageId) } as never;
    const places = keys.map((key, i) => known[key] ?? `${device().base}:other-${i}`);
    const args = Array.from({ length: 16 }, () => '1');
    const all = isFenced
      ? [
          [device().owner, sessionKeyOf(space.store, ownership), ...places],
          [ownership.token, ...args],
        ]
      : [places, args];
    return space.store.run(name, all[0]!, all[1]!);
  }

  it('is left as it is by every step that reads one', async () => {
    const messageId = await accept();
    await setVersion(messageId);
    const before = await everything(space);
    const steps = (await allScripts()).filter(({ name, keys }) => keys.includes('record') && name !== MAKES_RECORD);
    expect(steps.length).to.be.above(5);
    for (const step of steps) {
      const refusal = await runOn(messageId, step).catch((error: Error) => error.message);
      expect(refusal, step.name).to.match(/^UNKNOWN_VERSION /);
    }
    expect(await everything(space)).to.deep.equal(before);
  });

  it('is told to who asks for a change of it', async () => {
    const messageId = await accept();
    await setVersion(messageId);
    const before = await everything(space);
    const { tag } = parseMessageId(messageId)!;
    const changes: Record<string, () => Promise<unknown>> = {
      claim: () => claimRecipient(space.store, ownership, { tag, recipient: 0, part: 0, nowMs }),
      'take in': () => takeInSend(space.store, ownership, { tag, nowMs }),
      record: () => settle(messageId),
      cancel: () => cancelSend(space.store, address, messageId),
      forget: () => forgetRecipient(space.store, address, tag, PHONE),
      read: () => readSend(space.store, address, messageId),
    };
    for (const [what, change] of Object.entries(changes)) {
      const refusal = await change().catch((thrown: unknown) => thrown);
      expect(refusal, what).to.be.instanceOf(UnknownVersionError);
      expect((refusal as UnknownVersionError).fields, what).to.include({ version: `${RECORD_VERSION + 1}` });
    }
    expect(await everything(space)).to.deep.equal(before);
  });

  it('keeps a device with its account: another one may not send it', async () => {
    await takeAccount(space.store, ownership, { phone: '447700900123', nowMs });
    await setVersion(await accept());
    const refusal = await takeAccount(space.store, ownership, { phone: '447700900124', nowMs }).catch((error) => error);
    expect(refusal).to.be.instanceOf(UnknownVersionError);
    expect(await space.store.redis.hget(device().device, 'account')).to.equal('447700900123');
  });

  it('does not keep others from their end', async () => {
    const [foreign, own] = [await accept(), await accept()];
    await setVersion(foreign);
    expect(await expireSends(space.store, ownership, nowMs + HOUR_MS)).to.deep.equal([own]);
    expect((await readSend(space.store, address, own))!.counts).to.include({ queued: 0, expired: 1 });
  });

  it('is not forgotten for room', async () => {
    const [foreign, own] = [await accept(), await accept()];
    for (const messageId of [foreign, own]) await settle(messageId);
    await setVersion(foreign);
    await accept({ quotaBytes: 1 });
    const left = [foreign, own].map((messageId) => space.store.redis.exists(keysOf(messageId).record));
    expect(await Promise.all(left)).to.deep.equal([1, 0]);
  });
});

describe('an event that another version of the gateway has written', () => {
  const { address, space } = useOwnedDevice();
  const entry = (version: number) => Buffer.concat([Buffer.of(version), Buffer.alloc(7)]);

  it('is not passed over: what comes before it is read, and then it waits for a process that knows it', async () => {
    const { workspace } = address;
    const { eventLog } = workspaceKeys(space.store.space, workspace);
    const [known, foreign] = [EVENT_ENTRY_VERSION, EVENT_ENTRY_VERSION + 1].map((version) =>
      space.store.redis.xadd(eventLog, '*', 'e', entry(version)),
    );
    const [before, after] = [String(await known), String(await foreign)];
    const start = { entry: '0-0', offset: 0 };
    const part = await readLog(space.store, workspace, start, { limit: 10 });
    if (!('entries' in part)) throw new Error('nothing is gone');
    expect(part.entries.map(({ id }) => id)).to.deep.equal([before]);
    expect(part.isLast).to.equal(false);
    for (const read of [
      () => readLog(space.store, workspace, { entry: before, offset: 0 }, { limit: 10 }),
      () => readEntries(space.store, workspace, [before, after]),
    ]) {
      const refusal = await read().catch((thrown: unknown) => thrown);
      expect(refusal).to.be.instanceOf(UnknownVersionError);
      expect((refusal as UnknownVersionError).fields).to.include({ version: `${EVENT_ENTRY_VERSION + 1}` });
    }
  });
});

describe('a key that another version of the gateway has sealed', () => {
  const { address, space, ownership } = useOwnedDevice();
  const afterMs = Date.now() + 100 * 24 * HOUR_MS;
  const ids = ['15.0'];

  /** A session, its identity and a token, each in the layout `version`. */
  async function write(version: number): Promise<void> {
    const types = { session: '15.0', 'identity-key': '15.0', tctoken: '15@lid' };
    const keys = Object.entries(types).map(([type, id]) => ({ type, id, value: Buffer.from('key') }));
    await deviceKeyStore(space.store, ownership).commit({ keys });
    for (const { type, id } of keys) {
      const bucket = deviceKeys(space.store.space, address).keyBucket(type, bucketOf(id));
      const sealed = (await space.store.redis.hgetBuffer(bucket, id))!;
      await space.store.redis.hset(bucket, id, Buffer.concat([Buffer.of(version), sealed.subarray(1)]));
    }
  }
  const unused = async () => {
    const cursor = { bucket: bucketOf('15.0'), at: '0' };
    const walks = [{ type: 'session', cursor, limit: 10 }];
    return (await findUnusedKeys(space.store, address, { walks, beforeMs: afterMs }))[0]!.ids;
  };
  const forget = async () => ({
    unused: await unused(),
    session: await forgetSession(space.store, ownership, { id: '15.0', contact: '15@lid', beforeMs: afterMs }),
    identities: await forgetIdentities(space.store, ownership, { ids, beforeMs: afterMs }),
  });

  it('is never found to be unused, and not forgotten', async () => {
    await write(SEALED_VERSION + 1);
    const keys = await space.store.redis.keys(`${space.prefix}:*`);
    expect(await forget()).to.deep.equal({ unused: [], session: false, identities: 0 });
    expect((await space.store.redis.keys(`${space.prefix}:*`)).sort()).to.deep.equal(keys.sort());
    await write(SEALED_VERSION);
    expect(await forget()).to.deep.equal({ unused: ids, session: true, identities: 0 });
  });
});
