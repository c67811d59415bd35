import { parseMessageId } from '@gateway/contracts/ids';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { checkSchema, type Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { standIn } from '@gateway/testkit/stand-in';
import { expect } from 'chai';
import { type Repeats, runTwice } from './run-twice.js';

export const ADDRESS = { workspace: 'main', device: 'phone-1' };
export const HOUR_MS = 3_600_000;
export const PEOPLE = ['4915112345670', '4915112345671', '4915112345672'];

/** A small Redis that can be filled, and a device in it. Each step runs twice. */
export function useFullRedis() {
  let redis: SmallRedis;
  const store = {} as Store;
  let ownership: Ownership;
  /** Scripts that ran, and did what they are for, while it was full. */
  const ran = new Set<string>();
  let isFull = false;
  let repeats: Repeats;

  before(async () => {
    redis = await startSmallRedis();
    repeats = runTwice(redis.space);
    const run: RunScript = async (name, keys, args) => {
      const reply = await repeats.run(name, keys, args);
      if (isFull) ran.add(name);
      return reply;
    };
    Object.assign(store, redis.space.store, { run });
    await checkSchema(store);
    await ensureDevice(store, ADDRESS);
    ownership = (await takeDevice(store, ADDRESS, { owner: 'a', ttlMs: HOUR_MS }))!;
  });
  after(() => redis.close());
  afterEach(async () => {
    isFull = false;
    await redis.empty();
  });

  const fill = async () => {
    await redis.fill();
    isFull = true;
    const refusal = await store.redis.set(`${redis.space.prefix}:new`, 'x').catch((error: Error) => error.message);
    expect(refusal).to.match(/^OOM /);
  };
  /** What is done from now on is not counted as done while it was full. */
  const hasRoom = () => {
    isFull = false;
  };
  const accept = async (
    options: { kind?: 'text' | 'otp'; expiresAtMs?: number; blob?: string; holder?: string } = {},
  ) => {
    const { blob, holder: blobHolder = 'holder' } = options;
    const { messageId } = await acceptSend(store, ADDRESS, {
      kind: options.kind ?? 'text',
      content: blob
        ? { kind: 'media', type: 'image', mimeType: 'image/png', blob, blobHolder, sizeBytes: 4 }
        : { kind: 'text', text: 'hello' },
      parts: 1,
      recipients: options.kind === 'otp' ? PEOPLE.slice(0, 1) : PEOPLE,
      owner: 't',
      requestId: 'r',
      nowMs: Date.now(),
      expiresAtMs: options.expiresAtMs ?? Date.now() + HOUR_MS,
      accountEpoch: (await readDeviceState(store, ADDRESS)).accountEpoch,
    });
    return { messageId, tag: parseMessageId(messageId)!.tag };
  };
  const stateOf = async (messageId: string) => (await readSend(store, ADDRESS, messageId))?.state;
  const settle = (tag: string, event: 'acked' | 'read', recipients = [0, 1, 2]) =>
    recordResults(store, ownership, {
      tag,
      nowMs: Date.now(),
      events: recipients.map((recipient) => ({ recipient, part: 0, event })),
    });

  return {
    ...{ redis: standIn(() => redis), store, ownership: standIn(() => ownership) },
    ...{ repeats: standIn(() => repeats), ran, fill, hasRoom, accept, stateOf, settle },
  };
}
