import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import { recordObserved } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { noteReplaced } from '@gateway/store/devices/incidents/count-replaced';
import { noteEnd } from '@gateway/store/devices/incidents/note-end';
import { notePasskeyDemand } from '@gateway/store/devices/incidents/note-passkey-demand';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { deviceKeyStore, forgetSession, retireKeys } from '@gateway/store/devices/keys/device-keys';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import { takeAccount } from '@gateway/store/devices/take-account';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { releaseRepeat } from '@gateway/store/sends/accepting/idempotency';
import { claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import { endSessionOf, giveDeviceBack, renewSessionOf, sessionKeyOf, takeDevice } from '@gateway/testkit/ownership';
import { allScripts } from '@gateway/testkit/redis-servers/all-scripts';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { takePace } from '@gateway/testkit/sends/take-pace';
import { expect } from 'chai';
import { everything } from './support/everything.js';

const address = { workspace: 'main', device: 'phone-1' };
/** Every step that writes what only the owner of a device may write. */
const FENCED = [
  ...['answer-question', 'change-account', 'claim-recipient', 'commit-keys'],
  ...['forget-names', 'forget-session', 'note-end', 'note-passkey-demand', 'note-replaced', 'note-start'],
  ...[
    'record-observed',
    'record-received',
    'record-restriction',
    'record-results',
    'retire-keys',
    'take-in-sends',
    'take-pace',
    'take-questions',
  ],
];

async function fencedScripts(): Promise<string[]> {
  return (await allScripts()).filter(({ isFenced }) => isFenced).map(({ name }) => name);
}

describe('an owner whose ownership has passed on', () => {
  let space: RedisSpace;
  let stale: Ownership;
  let send: { messageId: string; tag: string };

  before(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    stale = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    await giveDeviceBack(space.store, stale);
    await takeDevice(space.store, address, { owner: 'b', ttlMs: 60_000 });
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['4915112345670'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    send = { messageId, tag: parseMessageId(messageId)!.tag };
  });
  after(() => space.close());

  /** All that there is, as Redis would write it into a file. */
  async function isRefused(write: () => Promise<unknown>): Promise<void> {
    const before = await everything(space);
    expect(await write().catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    expect(await everything(space)).to.deep.equal(before);
  }

  async function isFencedEverywhere(ownership: Ownership): Promise<void> {
    const { token } = ownership;
    const { base, owner } = deviceKeys(space.store.space, ownership.address);
    const ofOwner = [owner, sessionKeyOf(space.store, ownership)];
    const keys = [...ofOwner, ...Array.from({ length: 12 }, (_, i) => `${base}:fenced-${i}`)];
    const before = await everything(space);
    for (const script of await fencedScripts()) {
      const args = [token, ...Array.from({ length: 12 }, () => '1')];
      const refusal = await space.store.run(script, keys, args).catch((error: Error) => error.message);
      expect(refusal, script).to.match(/^FENCED /);
    }
    expect(await everything(space)).to.deep.equal(before);
  }

  it('is refused by every step of an owner, whatever it asks for', () => isFencedEverywhere(stale));

  it('is refused as well before another process has the device, once its session has ended', async () => {
    const other = { ...address, device: 'b' };
    const ownership = (await takeDevice(space.store, other, { owner: 'a', ttlMs: 60_000 }))!;
    await endSessionOf(space.store, ownership);
    await isFencedEverywhere(ownership);
  });

  it('is met by every step that must check it', async () => {
    expect(await fencedScripts()).to.have.members(FENCED);
  });

  const message = { platformId: 'P', jid: '1@lid', text: 'hello' };
  const writes: Record<string, () => Promise<unknown>> = {
    'claims a message': () => claimRecipient(space.store, stale, { ...send, recipient: 0, part: 0, nowMs: Date.now() }),
    'records results': () =>
      recordResults(space.store, stale, { ...send, nowMs: 1, events: [{ recipient: 0, part: 0, event: 'acked' }] }),
    'takes from the pace': () =>
      takePace(space.store, stale, { pace: { messagesPerMinute: 20, burst: 1, jitter: 0 }, nowMs: Date.now() }),
    'writes keys': () => deviceKeyStore(space.store, stale).commit({ creds: 'x' }),
    'retires keys': () => retireKeys(space.store, stale, { quarantine: false }),
    'forgets a session': () => forgetSession(space.store, stale, { id: '1.0', beforeMs: Date.now() }),
    'says how the device is': () =>
      recordObserved(space.store, stale, { actedOn: undefined, observed: { status: 'connecting' } }),
    'changes the account': () => takeAccount(space.store, stale, { phone: '4915112345670', nowMs: Date.now() }),
    'notes the end of a connection': () => noteEnd(space.store, stale, { wasOpen: { props: true }, end: 'spoken' }),
    'keeps what it received': () => recordReceived(space.store, stale, { message, nowMs: Date.now() }),
    'records a restriction': () => recordRestriction(space.store, stale, { kind: 'new_chat_cap', sinceMs: 1 }),
    'notes that a passkey is asked for': () => notePasskeyDemand(space.store, stale, true),
    'counts how often it was replaced': () => noteReplaced(space.store, stale, Date.now()),
    'takes questions': () => takeQuestions(space.store, stale),
    'answers one': () => writeOwnerAnswer(space.store, stale, { id: 'q', part: 'taken', value: 'x' }),
  };
  for (const [what, write] of Object.entries(writes)) {
    it(`gets a FencedError and changes nothing when it ${what}`, () => isRefused(write));
  }

  it('neither gives back what is another one’s, nor comes to life again', async () => {
    await endSessionOf(space.store, stale);
    const before = await everything(space);
    expect(await renewSessionOf(space.store, stale, 60_000)).to.equal(false);
    await giveDeviceBack(space.store, stale);
    expect(await everything(space)).to.deep.equal(before);
  });

  it('and a request whose claim has passed on leaves the claim of the next one alone', async () => {
    const key = `${space.prefix}:claim`;
    await space.clients.commands.set(key, 'of the next one');
    await releaseRepeat(space.store, { key, token: 'of the first one' });
    expect(await space.clients.commands.get(key)).to.equal('of the next one');
    await releaseRepeat(space.store, { key, token: 'of the next one' });
    expect(await space.clients.commands.exists(key)).to.equal(0);
  });
});
