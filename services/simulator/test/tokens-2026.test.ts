import { randomBytes } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { saltPatches, settingsKeyOf } from '@gateway/simulator/messaging/salt-patch';
import { eventually } from '@gateway/testkit/eventually';
import { type BinaryNode, decodePatches, newLTHashState, proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { csToken } from './support/privacy-tokens.js';
import { useSimulator } from './support/simulator-fixture.js';
import { connect, type Linked, logIn, newState, renewSecret } from './support/stock-client.js';

const WEEK_SECONDS = 7 * 24 * 3600;

describe('tokens of the profile 2026', () => {
  const network = useSimulator({ profile: '2026' });
  const me = '4922000000001';
  let client: Linked;
  let lastId = 0;

  const lidOf = (number: string) => network.simulator.network.directory.jidOf(number, 'lid');
  const missing = () => network.simulator.network.counters.missingTokens;
  const restrict = (restrictions: object) => network.admin('PUT', `/admin/accounts/${me}`, { restrictions });

  /** Sends a text by hidden identifier and answers the code of the refusal, undefined if it was taken. */
  async function send(number: string, additionalNodes: BinaryNode[] = [], { socket } = client) {
    lastId += 1;
    const messageId = `TOKEN${lastId}`;
    const ack = new Promise<Record<string, string>>((resolve) => {
      socket.ws.on(`CB:ack,id:${messageId}`, ({ attrs }: BinaryNode) => resolve(attrs));
    });
    await socket.relayMessage(lidOf(number), { conversation: 'hello' }, { messageId, additionalNodes });
    return (await ack).error;
  }

  const made = (number: string) => csToken(network.simulator, me, lidOf(number));

  before(async () => {
    client = await network.link({}, me);
  });
  afterEach(() => restrict({}));

  it('refuses the first message of a stock client to a stranger, without a lock', async () => {
    const before = missing();
    expect(await send('4922000000002')).to.equal('463');
    expect(missing()).to.equal(before + 1);
    expect(await client.socket.fetchAccountReachoutTimelock()).to.deep.include({ isActive: false });
  });

  it('takes a message to a stranger with the token that the salt makes, and none made for another person', async () => {
    expect(await send('4922000000003', [made('4922000000004')])).to.equal('463');
    expect(await send('4922000000003', [{ ...made('4922000000003'), content: randomBytes(32) }])).to.equal('463');
    expect(await send('4922000000003', [made('4922000000003')])).to.equal(undefined);
    expect(await send('4922000000003')).to.equal('463');
  });

  it('gives an account the token of a person who writes to it, which a stock client shows from then on', async () => {
    const person = '4922000000005';
    await network.admin('POST', `/admin/phones/${person}/messages`, { to: me, text: 'hi' });
    await eventually(async () => expect(await send(person)).to.equal(undefined));
  });

  it('takes the token of a person for four weeks, and not from another account', async () => {
    const [old, recent] = [await network.link(), await network.link()];
    const nowSeconds = Math.floor(Date.now() / 1000);
    const tokenFrom = async ({ socket, number }: Linked, atSeconds: number) => {
      const told = new Promise<BinaryNode>((resolve) => {
        client.socket.ws.on('CB:notification,type:privacy_token', (notice: BinaryNode) => {
          if (notice.attrs.sender_lid === lidOf(number)) resolve(notice);
        });
      });
      await socket.issuePrivacyTokens([lidOf(me)], atSeconds);
      const [tokens] = (await told).content as BinaryNode[];
      return { tag: 'tctoken', attrs: {}, content: (tokens!.content as BinaryNode[])[0]!.content! } as BinaryNode;
    };
    const expired = await tokenFrom(old, nowSeconds - 5 * WEEK_SECONDS);
    const valid = await tokenFrom(recent, nowSeconds - 3 * WEEK_SECONDS);
    expect(await send(old.number, [expired])).to.equal('463');
    expect(await send(old.number, [valid])).to.equal('463');
    expect(await send(recent.number, [valid])).to.equal(undefined);
  });

  it('refuses every stranger of an account that has no salt, whatever token comes', async () => {
    await network.admin('PUT', `/admin/accounts/${me}`, { hasSalt: false });
    expect(await send('4922000000006', [made('4922000000006')])).to.equal('463');
    await network.admin('PUT', `/admin/accounts/${me}`, { hasSalt: true, tokensRequired: false });
    expect(await send('4922000000006')).to.equal(undefined);
    await network.admin('PUT', `/admin/accounts/${me}`, { tokensRequired: true });
  });

  it('answers 475 when the account has opened all the conversations it may, and 463 while it is locked', async () => {
    await restrict({ newChatCap: { total: 1, used: 1 } });
    expect(await send('4922000000007', [made('4922000000007')])).to.equal('475');
    await restrict({ reachoutLockedUntilMs: Date.now() + 60_000 });
    expect(await send('4922000000007', [made('4922000000007')])).to.equal('463');
    expect(await send('4922000000003', [made('4922000000003')])).to.equal(undefined);
  });

  it('tells at each login which tokens it asks for: those that people give (10518), and those made of the salt (24941)', async () => {
    const { state } = await network.link({}, '4922000000014');
    const told = async () => {
      const { socket } = connect(network.simulator, state);
      const answer = await new Promise<BinaryNode>((resolve) => socket.ws.on('CB:iq,,props', resolve));
      await socket.end(undefined);
      const props = (answer.content as BinaryNode[])[0]!.content as BinaryNode[];
      const values = new Map(props.map(({ attrs }) => [attrs.config_code, attrs.config_value]));
      return { given: values.get('10518'), made: values.get('24941') };
    };
    expect(await told()).to.deep.equal({ given: 'true', made: 'true' });
    await network.admin('PUT', '/admin/accounts/4922000000014', { props: { 24941: false } });
    expect(await told()).to.deep.equal({ given: 'true', made: 'false' });
  });

  it('shares the salt as a setting where an account has it there, in a patch that stock clients accept', async () => {
    const number = '4922000000013';
    const { network: simulated } = network.simulator;
    expect(saltPatches(simulated, number)).to.deep.equal([]);
    await network.admin('PUT', `/admin/accounts/${number}`, { saltIn: 'settings' });
    const patches = saltPatches(simulated, number).map((bytes) => proto.SyncdPatch.decode(bytes));
    const key = proto.Message.AppStateSyncKeyData.fromObject({ keyData: settingsKeyOf(simulated, number).secret });
    const warnings: unknown[] = [];
    const logger = { warn: (...what: unknown[]) => void warnings.push(what) } as unknown as Parameters<
      typeof decodePatches
    >[6];
    const { mutationMap } = await decodePatches(
      'regular_high',
      patches,
      newLTHashState(),
      async () => key,
      ...([{}, undefined, logger, true] as const),
    );
    expect(Object.keys(mutationMap)).to.deep.equal(['["nct_salt_sync"]']);
    expect(warnings).to.deep.equal([]);
  });

  it('tells salt, tokens and migration in the first history only', async () => {
    const number = '4922000000010';
    const [friend, silent] = ['4922000000011', '4922000000012'];
    network.simulator.network.accounts.ensure(number).contacts.add(silent);
    await network.admin('POST', `/admin/phones/${friend}/messages`, { to: number, text: 'long ago' });
    const histories = await historiesOf(number);
    const [first, ...others] = [histories.get(0)!, histories.get(3)!, histories.get(4)!];
    expect(first.includes(network.simulator.saltOf(number))).to.equal(true);
    for (const other of others) expect(other.includes(network.simulator.saltOf(number))).to.equal(false);
    const { conversations, globalSettings } = proto.HistorySync.decode(first);
    expect(Number(globalSettings?.chatDbLidMigrationTimestamp)).to.be.above(0);
    expect(conversations.map(({ id }) => id)).to.have.members([lidOf(friend), lidOf(silent)]);
    expect(conversations.every(({ tcToken, tcTokenTimestamp }) => tcToken?.length && tcTokenTimestamp)).to.equal(true);
    const recent = proto.HistorySync.decode(histories.get(3)!);
    expect(recent.conversations.map(({ tcToken }) => tcToken?.length ?? 0)).to.deep.equal([0]);
    const given = conversations.find(({ id }) => id === lidOf(silent))?.tcToken;
    const holder = await loginOf(number);
    const token = { tag: 'tctoken', attrs: {}, content: given } as BinaryNode;
    expect(await send(silent, [token], holder)).to.equal(undefined);
  });

  const states = new Map<string, ReturnType<typeof newState>>();

  async function loginOf(number: string): Promise<Linked> {
    return logIn(network.simulator, states.get(number)!);
  }

  /** Links a client and reads the histories as its phone sealed them, by type. */
  async function historiesOf(number: string): Promise<Map<number, Buffer>> {
    const state = newState();
    states.set(number, state);
    const scan = (qr: string) => void network.admin('POST', `/admin/mock-phone/scan-qr?number=${number}`, qr);
    const linking = connect(network.simulator, state);
    renewSecret(linking, state, scan);
    await linking.outcome;
    const histories = new Map<number, Buffer>();
    const { socket } = network.connect(state, { shouldSyncHistoryMessage: () => false });
    socket.ev.on('messages.upsert', ({ messages }) => {
      for (const { message } of messages) {
        const notice = message?.protocolMessage?.historySyncNotification;
        const payload = notice?.initialHistBootstrapInlinePayload;
        if (payload) histories.set(notice.syncType ?? 0, inflateSync(payload));
      }
    });
    await eventually(() => expect([...histories.keys()]).to.have.members([0, 3, 4]));
    await socket.end(undefined);
    return histories;
  }
});
