import { randomBytes } from 'node:crypto';
import { nameOfDevice, parseMessageId } from '@gateway/contracts/ids';
import {
  clientVersionKeys,
  deviceKeys,
  sendKeys,
  shardKeys,
  surveyKeys,
  workspaceKeys,
} from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import { keepBlob, keepUpload, putBlob, readBlob, readUpload } from '@gateway/store/blobs/blobs';
import { recordAudit } from '@gateway/store/console/audit';
import { createUser } from '@gateway/store/console/users';
import { countKeyUse } from '@gateway/store/core/sealed-values';
import { checkSchema } from '@gateway/store/core/store';
import { readDefaultDevice, setDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import {
  cancelLink,
  readDeviceState,
  recordObserved,
  requestLink,
  requestUnlink,
} from '@gateway/store/devices/device-state';
import { ensureDevice, readDevice, renameDevice, setPace } from '@gateway/store/devices/devices';
import { noteReplaced } from '@gateway/store/devices/incidents/count-replaced';
import { noteEnd } from '@gateway/store/devices/incidents/note-end';
import { notePasskeyDemand } from '@gateway/store/devices/incidents/note-passkey-demand';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { deviceKeyStore, findUnusedKeys, forgetSession, retireKeys } from '@gateway/store/devices/keys/device-keys';
import {
  askOwner,
  forgetQuestion,
  takeQuestions,
  writeOwnerAnswer,
} from '@gateway/store/devices/questions/owner-questions';
import { removeDevice } from '@gateway/store/devices/removing/remove-device';
import { takeAccount } from '@gateway/store/devices/take-account';
import { forgetInLog } from '@gateway/store/events/forgetting/forget-in-log';
import { openEvents } from '@gateway/store/events/open-events';
import { closeUnwanted } from '@gateway/store/events/opening/close-events';
import { noteReading } from '@gateway/store/events/read-log';
import { boundLog, relayOutbox } from '@gateway/store/events/relay-outbox';
import { ClientVersion, setClientVersion } from '@gateway/store/fleet/client-version';
import { takeInstance } from '@gateway/store/fleet/instances/instances';
import { beatHeart, leaveMembers, listMembers } from '@gateway/store/fleet/members';
import { lookAtShard } from '@gateway/store/fleet/shards/look-at-shard';
import { takeRole } from '@gateway/store/fleet/shards/take-role';
import { noteEnded, noteStart } from '@gateway/store/fleet/starts/count-starts';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { forgetReceivedFrom } from '@gateway/store/inbound/received-messages';
import { countRequestOfToken } from '@gateway/store/limits/count-request';
import { takeBacklog } from '@gateway/store/limits/take-backlog';
import { findRepeat, forgetRepeat, keepAnswer, releaseRepeat } from '@gateway/store/sends/accepting/idempotency';
import { cancelSend, claimRecipient, forgetRecipient } from '@gateway/store/sends/change-send';
import { listDue, serveDue } from '@gateway/store/sends/due/due-entries';
import { mendDue } from '@gateway/store/sends/due/mend-due';
import { findRecipient } from '@gateway/store/sends/listing/find-recipient';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { readSend } from '@gateway/store/sends/read-send';
import { SharedSurvey } from '@gateway/store/survey/shared-survey';
import { joinOptOut, recordStart, recordStop } from '@gateway/store/workspace/hidden-opt-outs';
import { addOptOuts, findOptedOut } from '@gateway/store/workspace/opt-outs';
import { forgetNames } from '@gateway/store/workspace/people';
import {
  createApiToken,
  recordTokenUse,
  revokeApiToken,
  setApiTokenScopes,
} from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { endSessionOf, giveDeviceBack, renewSessionOf, sessionIdOf, takeDevice } from '@gateway/testkit/ownership';
import { allScripts } from '@gateway/testkit/redis-servers/all-scripts';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { takeInSend } from '@gateway/testkit/sends/take-in-send';
import { takePace } from '@gateway/testkit/sends/take-pace';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { ANSWERS_ONCE, CHANGES_AGAIN, REFUSED } from './support/answers-on-full-redis.js';
import { attemptsOn } from './support/attempts-on-full-redis.js';
import { ADDRESS, HOUR_MS, PEOPLE, useFullRedis } from './support/full-redis.js';
import { useNeighbours } from './support/use-neighbours.js';
import { useWebhook } from './support/use-webhook.js';

const address = ADDRESS;
const PEER = { workspace: 'main', device: 'phone-2' };
describe('a full Redis', () => {
  const { redis, store, ownership, repeats, ran, fill, hasRoom, accept, stateOf, settle } = useFullRedis();
  const neighbours = useNeighbours(store, ADDRESS);

  it('keeps devices with their owners', async () => {
    await fill();
    expect(await renewSessionOf(store, ownership, HOUR_MS)).to.equal(true);
    const other = await takeDevice(store, PEER, { owner: 'a', ttlMs: HOUR_MS });
    expect(other).to.include({ epoch: 1 });
    await giveDeviceBack(store, other!);
    await endSessionOf(store, other!);
    expect(await takeDevice(store, PEER, { owner: 'b', ttlMs: HOUR_MS })).to.include({ epoch: 2 });
    const self = { id: 'sender-1', held: 1, capacity: 10 };
    expect(await beatHeart(store, { self, ttlMs: HOUR_MS })).to.deep.equal([self]);
    expect(await listMembers(store)).to.deep.equal([self]);
    expect(await lookAtShard(store, shardOf(PEER))).to.deep.equal([]);
    const session = { shard: shardOf(address), id: sessionIdOf(ownership) };
    expect(await takeRole(store, session)).to.equal(session.id);
    await leaveMembers(store, 'sender-1');
    expect(await listMembers(store)).to.deep.equal([]);
    const instance = await takeInstance(
      { store, subscriber: redis.space.clients.subscriber, processId: 'p', onDisplaced: () => {} },
      'full',
    );
    await instance.noteSession({ shard: 0, id: 'p.1' });
    await instance.leave();
    await checkSchema(store);
  });

  it('lets sends that were accepted go on to their end', async () => {
    const [list, cancelled, expired] = [await accept(), await accept(), await accept({ expiresAtMs: Date.now() + 1 })];
    const met = await accept({ expiresAtMs: Date.now() + 1_000 });
    const otp = await accept({ kind: 'otp' });
    await fill();
    const pace = { messagesPerMinute: 60, burst: 1, jitter: 0 };
    expect(await takePace(store, ownership, { pace, nowMs: Date.now() })).to.equal(0);
    expect(await takeInSend(store, ownership, { tag: list.tag, nowMs: Date.now() })).to.have.property('record');
    const message = { tag: list.tag, recipient: 0, part: 0, nowMs: Date.now() };
    expect(await claimRecipient(store, ownership, message)).to.equal('claimed');
    await settle(list.tag, 'acked');
    expect(await stateOf(list.messageId)).to.equal('closed');
    await settle(list.tag, 'read');
    expect((await readSend(store, address, list.messageId))?.counts).to.include({ queued: 0, read: 3 });
    expect(await cancelSend(store, address, cancelled.messageId)).to.deep.equal({ cancelled: 3 });
    const due = shardKeys(store.space, shardOf(address)).due;
    await store.redis.zrem(due, `${nameOfDevice(address)}/${expired.tag}`);
    const mended: number[] = [];
    for await (const count of mendDue(store, shardOf(address), Date.now())) mended.push(count);
    expect(mended.reduce((sum, count) => sum + count)).to.equal(1);
    const [overdue, ...others] = await listDue(store, shardOf(address), { untilMs: Date.now() + 10, limit: 10 });
    expect(others).to.deep.equal([]);
    expect(await serveDue(store, overdue!, Date.now() + 10)).to.deep.equal({ kind: 'expired' });
    expect(await expireSends(store, ownership, Date.now() + 1_000)).to.deep.equal([met.messageId]);
    expect((await readSend(store, address, expired.messageId))?.counts).to.include({ queued: 0, expired: 3 });
    const { keptSends } = deviceKeys(store.space, address);
    const [ended] = await store.redis.zrange(`${keptSends}:ended:t`, '0', '0');
    const places = Object.values(sendKeys(store.space, address, parseMessageId(ended!.split(' ')[0]!)!.tag));
    await store.run('forget-ended-send', [...places, keptSends], ['t', ended!]);
    expect(await store.redis.exists(...places)).to.equal(0);
    await settle(otp.tag, 'acked', [0]);
    await settle(otp.tag, 'read', [0]);
    expect(await store.redis.exists(sendKeys(store.space, address, otp.tag).content)).to.equal(0);
  });

  it('lets people be found, and forgotten', async () => {
    const { messageId, tag } = await accept();
    await fill();
    expect((await findRecipient(store, address.workspace, PEOPLE[1]!)).found[0]).to.include({ recipient: 1 });
    expect((await listSends(store, address.workspace, { limit: 1 })).sends[0]!.send).to.include({ messageId });
    for (const phone of PEOPLE) expect(await forgetRecipient(store, address, tag, phone)).to.equal(1);
    expect((await readSend(store, address, messageId))?.counts).to.include({ queued: 0, cancelled: 3 });
  });

  it('lets files go with the sends that needed them', async () => {
    const file = { bytes: Buffer.from('file'), nowMs: Date.now(), quotaBytes: 1_000 };
    const stored = await putBlob(store, 'main', file);
    if (stored.kind !== 'stored') throw new Error('full');
    const { hash, holder } = stored;
    const medium = { type: 'document', mimeType: 'text/plain', sizeBytes: 4, blob: hash, blobHolder: holder } as const;
    const keep = () =>
      keepBlob(store, 'main', { content: { kind: 'media', ...medium }, expiresAtMs: Date.now() + HOUR_MS });
    const { releasedBlobs } = deviceKeys(store.space, address);
    await store.redis.sadd(releasedBlobs, `${hash}:4:${holder}`);
    await fill();
    expect(await keep()).to.equal(true);
    await serveDue(store, { name: nameOfDevice(address), dueMs: 0, address, tag: undefined }, Date.now());
    expect(await keep(), 'let go of').to.equal(false);
    expect(await readBlob(store, 'main', { hash, sizeBytes: 4 })).to.equal(undefined);
  });

  it('keeps nothing of a file that it had room for only in part', async () => {
    const { blobs, blobBytes } = workspaceKeys(store.space, 'main');
    await redis.fillTo(1 - (1.3 * 1024 * 1024) / redis.maxBytes);
    const bytes = randomBytes(3 * 1024 * 1024);
    const file = { bytes, nowMs: Date.now(), quotaBytes: 10 * bytes.length };
    const refusal = await putBlob(store, 'main', file).catch((error: Error) => error.message);
    expect(refusal).to.match(/^OOM /);
    expect(Number(await store.redis.get(blobBytes))).to.equal(0);
    expect(await store.redis.zcard(blobs)).to.equal(0);
    expect(await store.redis.keys(`${store.space.prefix}:*:blob:*`)).to.deep.equal([]);
  });

  it('lets go of what a key stands for', async () => {
    const { messageId } = await accept();
    const asked = { owner: 't', callersKey: 'k', address, isBound: true };
    const found = await findRepeat(store, asked);
    if (found.kind !== 'free') throw new Error(found.kind);
    await store.redis.hset(found.key, { messageId, fingerprint: 'f', answer: '{}' });
    await fill();
    await keepAnswer(store, { key: found.key, messageId, answer: { status: 'queued' } });
    expect(await store.redis.hget(found.key, 'answer')).to.equal('{"status":"queued"}');
    await forgetRepeat(store, found.key, messageId);
    await releaseRepeat(store, found.claim);
    expect(await store.redis.hget(found.key, 'messageId')).to.equal(null);
    expect(await store.redis.exists(found.claim.key)).to.equal(0);
  });

  it('takes the keys of running sessions, and lets go of them', async () => {
    const keys = deviceKeyStore(store, ownership);
    await fill();
    await keys.commit({
      creds: '{}',
      keys: [{ type: 'session', id: 'a.1', value: Buffer.alloc(700) }],
      contacts: ['a'],
    });
    expect(await keys.readCreds()).to.equal('{}');
    expect((await keys.read('session', ['a.1'])).size).to.equal(1);
    const walk = { type: 'session', cursor: { bucket: 0, at: '0' }, limit: 10 };
    await findUnusedKeys(store, address, { walks: [walk], beforeMs: Date.now() });
    const names = { type: 'device-list', ids: ['4915112345670'], own: undefined, beforeMs: Date.now() } as const;
    expect(await forgetNames(store, ownership, names)).to.equal(0);
    expect(await forgetSession(store, ownership, { id: 'a.1', beforeMs: Date.now() + 48 * HOUR_MS })).to.equal(true);
    await retireKeys(store, ownership, { quarantine: true });
    expect(await keys.readCreds()).to.equal(undefined);
  });

  it('lets keys be changed', async () => {
    const { creds } = deviceKeys(store.space, address);
    await store.redis.set(creds, 'before');
    await store.redis.hset(deviceKeys(store.space, address).received, 'p', store.vault.seal('x', 'received', 'p'));
    await fill();
    expect(
      (await neighbours.ofAll(() => countKeyUse(store))).map(({ values }) => values).some((values) => values > 0),
    ).to.equal(true);
    expect(await store.run('reseal', [creds], ['', 'before', 'after '.repeat(100)])).to.equal(1);
    hasRoom();
    await redis.empty();
    await store.redis.del(creds);
  });

  it('lets devices be seen, disconnected and restricted', async () => {
    await fill();
    expect(await requestUnlink(store, address, { attemptId: 'x' })).to.deep.equal({
      outcome: 'nothingLinked',
      attemptId: '',
    });
    hasRoom();
    await redis.empty();
    await requestLink(store, address, { attemptId: 'one', method: 'qrCode', forceNew: false });
    const acting = async () => (await readDeviceState(store, address)).desired;
    const former = await accept();
    await fill();
    await recordObserved(store, ownership, {
      actedOn: await acting(),
      observed: { status: 'connected' },
      want: 'linked',
    });
    await recordRestriction(store, ownership, { kind: 'reach_out_time_lock', sinceMs: 1 }, ['4915112345670']);
    expect(await readDeviceState(store, address)).to.deep.include({
      restriction: { kind: 'reach_out_time_lock', sinceMs: 1 },
    });
    expect((await readDeviceState(store, address)).observed).to.include({ status: 'connected' });
    const take = (phone: string) => takeAccount(store, ownership, { phone, nowMs: Date.now() });
    expect(await take('447700900123')).to.deep.equal({ isOther: false });
    expect(await take('447700900124')).to.deep.equal({ isOther: true });
    expect((await readSend(store, address, former.messageId))?.counts).to.include({ queued: 0, cancelled: 3 });
    expect(await noteEnd(store, ownership, { wasOpen: { picture: true }, end: 'spoken' })).to.deep.equal([]);
    expect(await noteStart(store, ownership)).to.equal(1);
    await noteEnded(store, ownership);
    expect(await noteReplaced(store, ownership, Date.now())).to.equal('once');
    await notePasskeyDemand(store, ownership, true);
    expect(await requestUnlink(store, address, { attemptId: 'two' })).to.deep.equal({
      outcome: 'requested',
      attemptId: 'two',
    });
    await requestLink(store, address, { attemptId: 'three', method: 'qrCode', forceNew: true });
    expect(await cancelLink(store, address, { attemptId: 'three', reason: 'link_timeout' })).to.equal(true);
  });

  it('lets webhooks be changed, tested and deleted', () => useWebhook(store, fill));

  it('tells what changed', async () => {
    const shard = shardOf(address);
    await openEvents(store, 'main');
    const { messageId } = await accept();
    await addOptOuts(store, 'main', { numbers: ['447700900009'], source: 'cli', atMs: 1 });
    await fill();
    await cancelSend(store, address, messageId);
    expect(await forgetInLog(store, 'main', new Set(['447700900009']))).to.equal(1);
    const [full] = await findFullOutboxes(store, 'main');
    expect(full).to.include({ workspace: 'main', shard });
    expect(await relayOutbox(store, full!)).to.be.above(0);
    expect(await boundLog(store, 'main', 1)).to.equal(true);
    expect(await noteReading(store, 'main')).to.equal(true);
    expect(await closeUnwanted(store, 'main', Date.now() + 8 * 24 * HOUR_MS)).to.equal(true);
    await openEvents(store, 'main');
  });

  it('never refuses a STOP from a phone', async () => {
    await fill();
    const message = { platformId: 'stop', jid: 'j', text: 'STOP', phone: '447700900001', atMs: Date.now() };
    expect(await recordIncoming(store, ownership, { message, nowMs: Date.now() })).to.equal('optedOut');
    expect(await recordStop(store, 'main', { hiddenId: '77@lid', atMs: Date.now() })).to.equal(true);
    await joinOptOut(store, 'main', { phone: '447700900002', hiddenId: '77@lid' });
    const { forgotten } = await forgetReceivedFrom(store, address, ({ phone }) => phone === '447700900001');
    expect(forgotten).to.equal(1);
    const numbers = ['447700900001', '447700900002', '447700900003'];
    expect([...(await findOptedOut(store, 'main', numbers))]).to.deep.equal(numbers.slice(0, 2));
    expect(await recordStart(store, 'main', { phone: '447700900001', atMs: Date.now() + 5_000 })).to.equal(true);
  });

  it('lets the owner answer what it was asked', async () => {
    await askOwner(store, address, { id: 'q', question: { kind: 'session' } });
    await fill();
    expect(await takeQuestions(store, ownership)).to.deep.equal([{ id: 'q', question: { kind: 'session' } }]);
    expect(await writeOwnerAnswer(store, ownership, { id: 'q', part: '0', value: 'well' })).to.equal(true);
    await forgetQuestion(store, address, { id: 'q' });
  });

  it('remembers what of everything there is one of', async () => {
    const { token } = await createApiToken(store, 'main', { name: 'test' });
    await setWorkspaceLimits(store, 'main', { backlog: 2 });
    const taken = await takeBacklog(store, { workspace: 'main', messages: 1, room: 2, knownAtMs: 1, nowMs: 1 });
    await fill();
    await taken!.settle({ nowMs: 1, isRefused: false });
    const { backlogTaken, backlogUnwritten } = workspaceKeys(store.space, 'main');
    expect([await store.redis.hvals(backlogTaken), await store.redis.exists(backlogUnwritten)]).to.deep.equal([
      ['1'],
      0,
    ]);
    await recordTokenUse(store, token, Date.now());
    expect(await countRequestOfToken(store, `${redis.space.prefix}:{main}:limit`)).to.have.property('requests');
    const version = new ClientVersion({ store, clock: { nowMs: Date.now }, logger, configured: '2.3000.7' });
    await version.noteRefusal('2.3000.7');
    expect(await version.mayLogIn()).to.equal(false);
    const upload = { atMs: 1 } as unknown as Parameters<typeof keepUpload>[2]['upload'];
    const medium = { blob: 'b', type: 'image' } as const;
    await keepUpload(store, address, { ...medium, upload, untilMs: Date.now() + HOUR_MS });
    expect(await readUpload(store, address, medium)).to.deep.equal(upload);
  });

  it('is surveyed for its metrics', async () => {
    await fill();
    const shared = new SharedSurvey({ store, clock: systemClock });
    expect(await shared.read()).to.include({ senders: 0 });
    expect(await store.redis.exists(surveyKeys(store.space).survey)).to.equal(1);
  });

  it('lets operators act', async () => {
    const { token } = await createApiToken(store, 'main', { name: 'leaked' });
    await fill();
    expect(await revokeApiToken(store, 'main', token.keyId)).to.have.property('revokedAtMs');
    expect((await setApiTokenScopes(store, 'main', token.keyId, ['read']))?.scopes).to.deep.equal(['read']);
    expect((await createApiToken(store, 'main', { name: 'in its place' })).value).to.be.a('string');
    await Promise.all([setWorkspaceLimits(store, 'main', { devices: 9 }), createUser(store, 'ann', 'viewer')]);
    await recordAudit(store, { user: 'test', action: 'device.renamed', target: 'new' }, token.keyId);
    const device = { workspace: 'main', device: 'new' };
    await ensureDevice(store, device);
    const pace = { messagesPerMinute: 1, burst: 1, jitter: 0 };
    await setPace(store, device, pace);
    expect(await readDevice(store, device)).to.deep.include({ displayName: 'new', pace });
    await setDefaultDevice(store, { workspace: 'main', device: 'new' });
    expect(await readDefaultDevice(store, 'main')).to.equal('new');
    await renameDevice(store, device, 'Shop');
    expect(await removeDevice(store, device)).to.equal('removed');
    await setClientVersion(store, '2.3000.8');
    expect(await store.redis.hget(clientVersionKeys(store.space).version, 'version')).to.equal('2.3000.8');
  });

  it('takes nothing new', async () => {
    const attempts = await attemptsOn(store, () => accept());
    await fill();
    expect(Object.keys(attempts).sort()).to.deep.equal(REFUSED);
    for (const [name, attempt] of Object.entries(attempts)) {
      const refusal = await attempt().then(
        () => 'taken',
        (error: Error) => error.message,
      );
      expect(refusal, name).to.match(/^OOM /);
    }
  });

  it('is in the same state when a step comes twice, and its answer is the same', () => {
    expect([...repeats.changed].filter((name) => !CHANGES_AGAIN.includes(name)).sort()).to.deep.equal([]);
    expect([...repeats.answered].sort()).to.deep.equal(Object.keys(ANSWERS_ONCE).sort());
  });

  it('is met by every script without a key, an entry or a bell of another workspace', async () => {
    const { seen, strange } = await neighbours.look();
    expect((await allScripts()).map(({ name }) => name).filter((name) => !seen.has(name))).to.deep.equal([]);
    expect(strange).to.deep.equal([]);
  });

  it('was tried with every script: those that run when it is full, and those that must not', async () => {
    const all = await allScripts();
    const named = (when: string) => all.filter(({ whenFull }) => whenFull === when).map(({ name }) => name);
    const untried = named('runs').filter((name) => !ran.has(name));
    expect(untried, 'a new script belongs into a test above').to.deep.equal([]);
    expect(named('refused').sort()).to.deep.equal(REFUSED);
    expect(REFUSED.filter((name) => ran.has(name))).to.deep.equal([]);
  });
});
