import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { fetchSettings } from '@gateway/messenger/app-state/fetch-settings';
import { readSalt, type SettingsRecord } from '@gateway/messenger/app-state/read-salt';
import type { HistoryCreds } from '@gateway/messenger/history/own-creds';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { type BaileysSocket, type BinaryNode, getMediaKeys, proto } from '@gateway/messenger/socket/baileys';
import { standInAgent } from '@gateway/messenger/socket/socket-settings';
import { saltPatches, settingsKeyOf } from '@gateway/simulator/messaging/salt-patch';
import { node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import type { MemoryKeyStore } from './support/memory-key-store.js';
import { makeNumbers, makePlatformId, type TestSession, useSessions } from './support/session-fixture.js';

describe('the salt that the devices of an account share', () => {
  const said: BinaryNode[] = [];
  const sessions = useSessions({ trace: (direction, _, stanza) => void (direction === 'in' && said.push(stanza)) });
  const questions = () => said.filter(({ attrs }) => attrs.xmlns === 'w:sync:app:state').length;
  const credsOf = (keyStore: MemoryKeyStore) => JSON.parse(keyStore.creds!) as HistoryCreds;
  const saltOf = (number: string) => sessions.simulator.saltOf(number).toString('base64');
  beforeEach(() => {
    said.length = 0;
  });

  async function link(rules: object) {
    const [account] = makeNumbers(1) as [string];
    await sessions.admin('PUT', `accounts/${account}`, rules);
    return { account, ...(await sessions.link(account)) };
  }
  async function open(keyStore: MemoryKeyStore): Promise<TestSession> {
    const test = await sessions.open(keyStore, { caches: createSessionCaches() });
    await test.next('open');
    return test;
  }
  /** As keys of another program are, where the history went. */
  function asImported(keyStore: MemoryKeyStore): void {
    const { nctSalt: _, linkedAtMs: __, hasHistory: ___, saltAttempts: ____, ...creds } = credsOf(keyStore);
    keyStore.creds = JSON.stringify(creds);
  }
  async function send({ session }: TestSession): Promise<string> {
    const [to] = makeNumbers(1) as [string];
    const content = { kind: 'text' as const, text: 'hello' };
    const { ack } = await session.send({ to, platformId: makePlatformId(), content });
    return (await ack).kind;
  }

  it('is found when the first history brings none, and a stranger gets a message', async () => {
    const { account, keyStore } = await link({ saltIn: 'settings' });
    const test = await open(keyStore);
    await eventually(() => credsOf(keyStore).nctSalt === saltOf(account));
    expect(await send(test)).to.equal('accepted');
    expect(questions()).to.equal(1);
  });

  it('is found for an imported account, and what came with a history is not asked for', async () => {
    const { account, keyStore } = await link({});
    const first = await open(keyStore);
    await first.session.historyTaken;
    await eventually(() => credsOf(keyStore).nctSalt === saltOf(account));
    await first.session.close();
    expect(questions(), 'the history brought it').to.equal(0);
    asImported(keyStore);
    await sessions.admin('PUT', `accounts/${account}`, { saltIn: 'settings' });
    const test = await open(keyStore);
    await eventually(() => credsOf(keyStore).nctSalt === saltOf(account));
    expect(test.session.firstContacts).to.equal('open');
    expect(await send(test)).to.equal('accepted');
  });

  it('is asked for once where there is none', async () => {
    const { keyStore } = await link({ hasSalt: false });
    const first = await open(keyStore);
    await eventually(() => credsOf(keyStore).saltAttempts === 3);
    await first.session.close();
    await (await open(keyStore)).session.historyTaken;
    expect(questions()).to.equal(1);
  });

  it('is asked for three times at most where the network does not answer, and holds nothing up', async () => {
    const { account, keyStore } = await link({ saltIn: 'settings', tokensRequired: false });
    sessions.fault('iq', { silent: true }, { match: { xmlns: 'w:sync:app:state' }, count: 1_000 });
    for (const attempt of [1, 2, 3, 3]) {
      const test = await open(keyStore);
      await test.session.historyTaken;
      await eventually(() => credsOf(keyStore).saltAttempts === attempt);
      const startedMs = performance.now();
      expect(await send(test)).to.equal('accepted');
      expect(performance.now() - startedMs).to.be.below(2_000);
      await eventually(() => questions() === attempt);
      await test.session.close();
    }
    expect(saltOf(account)).not.to.equal(credsOf(keyStore).nctSalt);
  });

  it('keeps no question waiting that messages wait for: what the network restricts, once it has refused one', async () => {
    const { keyStore } = await link({ hasSalt: false });
    sessions.fault('iq', { silent: true }, { match: { xmlns: 'w:sync:app:state' } });
    const test = await open(keyStore);
    await eventually(() => questions() === 1);
    const startedMs = performance.now();
    expect(await test.session.readRestriction('reach_out_time_lock')).to.equal(undefined);
    expect(performance.now() - startedMs, 'the settings are waited for for 8 s').to.be.below(5_000);
  });

  describe('as it lies there', () => {
    const number = '491700000001';
    let patch: proto.SyncdPatch;
    const key = () => settingsKeyOf(sessions.simulator.network, number);
    const readKey = async () => key().secret;
    const records = (operations: proto.ISyncdMutation[]): SettingsRecord[] =>
      operations.map(({ operation, record }) => ({
        isRemoved: operation === proto.SyncdMutation.SyncdOperation.REMOVE,
        record: proto.SyncdRecord.encode(record!).finish(),
      }));
    /** Of another setting. */
    const other = (keyId: Uint8Array): proto.ISyncdMutation => {
      const [index, value] = [{ blob: randomBytes(32) }, { blob: randomBytes(96) }];
      return { operation: proto.SyncdMutation.SyncdOperation.SET, record: { index, value, keyId: { id: keyId } } };
    };

    before(() => {
      Object.assign(sessions.simulator.network.accounts.ensure(number), { saltIn: 'settings' });
      patch = proto.SyncdPatch.decode(saltPatches(sessions.simulator.network, number)[0]!);
    });

    it('is the last that was set, if it was not removed since', async () => {
      const [set] = patch.mutations as [proto.ISyncdMutation];
      const removed = { ...set, operation: proto.SyncdMutation.SyncdOperation.REMOVE };
      const others = Array.from({ length: 3 }, () => other(key().id));
      const found = { kind: 'found', salt: sessions.simulator.saltOf(number) };
      expect(await readSalt(records([...others, removed, set, ...others]), readKey)).to.deep.equal(found);
      expect(await readSalt(records([set, removed]), readKey)).to.deep.equal({ kind: 'absent' });
      expect(await readSalt(records(others), readKey)).to.deep.equal({ kind: 'absent' });
      const unknown = [...others, other(randomBytes(6))];
      const readSome = async (id: string) => (id === key().id.toString('base64') ? key().secret : undefined);
      expect(await readSalt(records(unknown), readSome)).to.deep.equal({ kind: 'unknown' });
      expect(await readSalt(records([set, ...unknown]), readSome)).to.deep.equal(found);
    });

    it('is not taken when it was changed, nor from settings with a thousand keys', async () => {
      const [{ record, operation }] = patch.mutations as [proto.ISyncdMutation];
      const blob = Buffer.from(record!.value!.blob!);
      for (const at of [0, 20, blob.length - 1]) {
        const changed = Buffer.from(blob);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        const read = readSalt(
          records([{ operation: operation!, record: { ...record, value: { blob: changed } } }]),
          readKey,
        );
        expect(await read.catch((error: Error) => error.message)).to.equal('the salt was changed on its way');
      }
      const many = Array.from({ length: 1_000 }, () => other(randomBytes(6)));
      const read = readSalt(records(many), async () => undefined);
      expect(await read.catch((error: Error) => error.message)).to.contain('too many keys');
    });

    /** A network that answers with these pages, one after the other. */
    async function fetchFrom(
      pages: BinaryNode[],
    ): Promise<{ records: SettingsRecord[]; versions: (string | undefined)[] }> {
      const versions: (string | undefined)[] = [];
      const { mediaHost } = sessions.simulator.network.settings;
      const sock = {
        refreshMediaConn: async () => ({ hosts: [{ hostname: mediaHost }] }),
        query: async ({ content }: { content: [{ content: [BinaryNode] }] }) => {
          versions.push(content[0].content[0].attrs.version);
          return node('iq', {}, [node('sync', {}, [pages[Math.min(versions.length, pages.length) - 1]!])]);
        },
      } as unknown as BaileysSocket;
      const agent = standInAgent({ url: 'ws://localhost', trust: { kind: 'root', publicKey: Buffer.alloc(32) } });
      const signal = AbortSignal.timeout(5_000);
      const found = await fetchSettings({ sock, agent, signal, ask: (question) => question() }, 'regular_high');
      return { records: found, versions };
    }
    async function upload(bytes: Uint8Array): Promise<Uint8Array> {
      const mediaKey = randomBytes(32);
      const { iv, cipherKey, macKey } = await getMediaKeys(mediaKey, 'md-app-state');
      const cipher = createCipheriv('aes-256-cbc', cipherKey, iv);
      const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
      const mac = createHmac('sha256', macKey!).update(iv).update(body).digest().subarray(0, 10);
      const sealed = Buffer.concat([body, mac]);
      const hash = createHash('sha256').update(sealed);
      const directPath = sessions.simulator.network.media.keep(sealed, hash.copy().digest('base64url'))!;
      return proto.ExternalBlobReference.encode({ mediaKey, directPath, fileEncSha256: hash.digest() }).finish();
    }
    const collection = (more: object, children: BinaryNode[]) =>
      node('collection', { name: 'regular_high', ...more }, children);

    it('is found in a snapshot, in patches, and in files that these point to', async () => {
      const [set] = patch.mutations as [proto.ISyncdMutation];
      const [one, two, three] = [other(key().id), other(key().id), set] as const;
      const snapshot = proto.SyncdSnapshot.encode({ version: { version: 7 }, records: [one.record!] }).finish();
      const file = proto.SyncdMutations.encode({ mutations: [three] }).finish();
      const inFile = { externalMutations: proto.ExternalBlobReference.decode(await upload(file)) };
      const last = proto.SyncdPatch.encode({ version: { version: 9 }, mutations: [two], ...inFile }).finish();
      const { records: found, versions } = await fetchFrom([
        collection({ has_more_patches: 'true' }, [node('snapshot', {}, Buffer.from(await upload(snapshot)))]),
        collection({}, [node('patches', {}, [node('patch', {}, Buffer.from(last))])]),
      ]);
      expect(versions).to.deep.equal(['0', '7']);
      expect(found.map(({ record }) => Buffer.from(record))).to.deep.equal(
        records([one, two, three]).map(({ record }) => Buffer.from(record)),
      );
      expect((await readSalt(found, readKey)).kind).to.equal('found');
    });

    it('is not looked for without an end, nor in what the network refuses', async () => {
      const endless = fetchFrom([collection({ has_more_patches: 'true' }, [])]);
      expect(await endless.catch((error: Error) => error.message)).to.equal('settings without an end');
      const refused = fetchFrom([collection({ type: 'error' }, [node('error', { code: '404' })])]);
      expect(await refused.catch((error: { code?: number }) => JSON.stringify(error))).to.contain('404');
    });
  });
});
