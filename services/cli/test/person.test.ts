import { LOG_START } from '@gateway/contracts/events/cursor';
import { EVENT_TYPES } from '@gateway/contracts/events/events';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import { removeDevice } from '@gateway/store/devices/removing/remove-device';
import { openEvents } from '@gateway/store/events/open-events';
import { readEvents } from '@gateway/store/events/reading/read-events';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { runCli } from './support/run-cli.js';

const PERSON = '447700900123';

describe('person forget, where it cannot be finished', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    for (const device of ['a', 'b', 'c']) await ensureDevice(space.store, { workspace: 'main', device });
  });
  afterEach(() => space.close());

  const forget = () => runCli(space, ['person', 'forget', PERSON, '--json']);
  async function accept(device: string): Promise<string> {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(
      space.store,
      { workspace: 'main', device },
      {
        ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: [PERSON] },
        ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
      },
    );
    return messageId;
  }

  /** The process that holds the device could not do what it was asked. */
  async function answerNothing(device: string): Promise<void> {
    const ownership = await takeDevice(space.store, { workspace: 'main', device }, { owner: 'a', ttlMs: 60_000 });
    const [asked] = await eventually(async () => {
      const questions = await takeQuestions(space.store, ownership!);
      return questions.length > 0 && questions;
    });
    await writeOwnerAnswer(space.store, ownership!, { id: asked!.id, part: '0', value: 'null' });
  }

  it('does the rest, says what it did, and fails with what is left of each device', async () => {
    const asked = answerNothing('a');
    const { keyBucket } = deviceKeys(space.store.space, { workspace: 'main', device: 'b' });
    await space.clients.commands.hset(keyBucket('lid-mapping', 0), '1_reverse', 'x');
    const c = { workspace: 'main', device: 'c' };
    const queued = await accept('c');

    const { code, stdout, stderr } = await forget();
    await asked;
    expect(code, stdout).to.equal(1);
    expect(JSON.parse(stdout)).to.deep.equal([
      { device: 'c', what: 'sends', removed: 1 },
      { device: 'c', what: 'recipients', removed: 1 },
    ]);
    expect((await readSend(space.store, c, queued))?.counts).to.include({ queued: 0, cancelled: 1 });
    expect(stderr).to.match(/^error: not finished/);
    expect(stderr).to.match(/^a: the process that owns it was not reached/m);
    expect(stderr).to.match(/^b: 1 values cannot be decrypted/m);
    expect(stderr).not.to.include(PERSON);
  });
});

describe('person forget, of a device that was removed', () => {
  let space: RedisSpace;
  const address = { workspace: 'main', device: 'a' };
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    await openEvents(space.store, 'main');
  });
  afterEach(() => space.close());

  it('removes what was sent to them and what they wrote: no event tells it any more', async () => {
    const { store } = space;
    const ownership = (await takeDevice(store, address, { owner: 'a', ttlMs: 60_000 }))!;
    const nowMs = Date.now();
    const { messageId } = await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: [PERSON] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    const { tag } = parseMessageId(messageId)!;
    await recordResults(store, ownership, { tag, nowMs, events: [{ recipient: 0, part: 0, event: 'acked' }] });
    const message = { platformId: '3A01', jid: `${PERSON}@s.whatsapp.net`, phone: PERSON, text: 'my secret' };
    await recordReceived(store, ownership, { message, nowMs });
    for (const full of await findFullOutboxes(store, 'main')) await relayOutbox(store, full);
    const told = async () =>
      JSON.stringify(await readEvents({ store, workspace: 'main' }, LOG_START, { limit: 500, types: EVENT_TYPES }));
    expect(await told())
      .to.include(PERSON)
      .and.include('my secret');
    await giveDeviceBack(store, ownership);
    expect(await removeDevice(store, address)).to.equal('removed');
    const { code, stderr } = await runCli(space, ['person', 'forget', PERSON]);
    expect(code, stderr).to.equal(0);
    expect(await told()).not.to.match(new RegExp(`${PERSON}|my secret`));
  });
});
