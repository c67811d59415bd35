import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { partsOfWorkspace } from '@gateway/contracts/keys-of-workspace';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { type ApiToken, createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { codeAfter } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { namesWorkspace } from '@gateway/testkit/redis-servers/names-workspace';
import { nameOfStep, watchSteps } from '@gateway/testkit/redis-servers/watch-steps';
import { makePdf } from '@gateway/testkit/sample-files';
import { scanCodes } from '@gateway/testkit/scan-codes';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const [ACCOUNT, OTHER_ACCOUNT] = ['491700000091', '491700000092'];
/** What is read of answers here. */
interface Told {
  status?: string;
  phone?: string;
  qrCode: string;
  messageId: string;
  counts?: { read: number };
}

const WORKSPACES = ['main', 'other'];
const OTHER = { workspace: 'other', device: 'default' };

/** Steps that name a workspace though nothing is done for it: each process looks at all of them by itself, time and again. */
const ROUNDS: Record<string, string> = {
  'look-at-shard': 'which devices of a shard want an owner',
  'find-unsettled': 'whose sends and files nobody has ended',
  'survey-shard': 'how many there are of everything, for metrics',
  'find-full-outboxes': 'what was changed, and is not in a log yet',
  ...{ hgetall: 'what it may have waiting, to know the room for all', get: 'how much its files take, for the same' },
  ...{ smembers: 'its endpoints, to deliver to', memory: 'how large its log is', xrevrange: 'how old that is' },
  'end-events': 'whether its events are wanted any more',
  'open-log': 'that what its events need is there, as the next three',
  'release-device': 'that a device stays free that was given back less than half a minute ago',
  ...{ 'write-always': 'the list of those with events', 'open-outbox': 'its outboxes', 'finish-opening': 'all of it' },
};
/** Of all services, what touches a device, its sends, what it hears, opt-outs, files and events. */
const DONE_FOR_MAIN = [
  ...['accept-send', 'add-opt-outs', 'answer-question', 'append-events', 'ask-owner', 'claim-device'],
  ...['claim-recipient', 'commit-keys', 'create-webhook', 'keep-blob', 'note-ended', 'note-start', 'place-repeat'],
  ...['publish', 'read-device-state', 'record-observed', 'record-received', 'record-results', 'release-device'],
  ...['request-link', 'request-unlink', 'reserve-blob', 'retire-keys', 'take-in-sends', 'trim-outbox', 'want-events'],
  'write-chunk',
];

describe('two workspaces with a device of the same name, in the same processes', () => {
  const { space, simulator, gateway, write, shown } = useGateway({
    ...{ senders: 2, env: { LOG_LEVEL: 'debug' } },
  });
  let otherToken: ApiToken;
  let askOther: (method: string, path: string, body?: object) => Promise<Told>;
  before(async () => {
    const { value, token } = await createApiToken(space.store, OTHER.workspace, {
      ...{ name: 'test', scopes: API_TOKEN_SCOPES },
    });
    otherToken = token;
    askOther = (...request) => ask(value, ...request);
  });
  async function ask(token: string, method: string, path: string, body?: object): Promise<Told> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k' };
    const answer = await fetch(`${gateway.baseUrl}${path}`, {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const told: unknown = await answer.json();
    expect(answer.ok, JSON.stringify(told)).to.equal(true);
    return told as Told;
  }

  it('are linked to accounts of their own; each sends what it was told to, and hears the STOP of its own people; no step of Redis touches keys of both, and no line of a log names both', async () => {
    const isConnected = async () => (await askOther('GET', '/status')).phone === OTHER_ACCOUNT;

    const watched = await watchSteps(space.clients.failFast);
    await gateway.link(ACCOUNT);
    const { qrCode } = await askOther('POST', '/connect?rawQrCode=true');
    const { adminUrl } = simulator;
    const nextCode = (before: string) => codeAfter(space.store, OTHER, before);
    await scanCodes({ adminUrl, number: OTHER_ACCOUNT, nextCode }, qrCode);
    await eventually(isConnected, { everyMs: 1_000 });

    const [gone, here] = makeNumbers(2, 91) as [string, string];
    await write(gone, ACCOUNT, 'STOP');
    await eventually(() => findOptOut(space.store, 'main', gone));
    expect(await findOptOut(space.store, OTHER.workspace, gone)).to.equal(undefined);

    const list = { to: [gone, here], text: 'the same list' };
    const headers = { 'idempotency-key': 'k' };
    const [{ body: sent }, sentByOther] = await Promise.all([
      gateway.call('POST', '/send', { body: list, headers }),
      askOther('POST', '/send', list),
    ]);
    const isRead = async () => (await askOther('GET', `/messages/${sentByOther.messageId}`)).counts?.read === 2;
    await Promise.all([
      gateway.waitForSend(sent.messageId, { read: 1, failed: 1 }),
      eventually(isRead, { everyMs: 1_000 }),
    ]);
    expect(shown(ACCOUNT, list.text)).to.deep.equal([here]);
    expect(shown(OTHER_ACCOUNT, list.text)).to.have.members([gone, here]);

    expect((await gateway.call('POST', '/disconnect')).status).to.equal(200);
    await gateway.waitForStatus('disconnected');
    expect(await isConnected()).to.equal(true);

    await watched.catchUp();
    watched.close();
    const owners = WORKSPACES.map((workspace) => ({
      workspace,
      partIn: partsOfWorkspace(space.store.space, workspace),
    }));
    const touched = watched.steps.map((step) =>
      owners
        .filter(({ partIn }) => step.flat().some((word) => partIn(word) === 'whole'))
        .map(({ workspace }) => workspace),
    );
    expect(new Set(touched.flat()), 'in the keys of one step').to.deep.equal(new Set(WORKSPACES));
    expect(watched.steps.filter((_, at) => touched[at]!.length > 1)).to.deep.equal([]);

    const names = { main: [sent.messageId], other: [sentByOther.messageId, otherToken.keyId] };
    const people = [ACCOUNT!, OTHER_ACCOUNT!, gone, here];
    const lines = gateway.logs().map((line) => ({ line, text: JSON.stringify(line) }));
    const linesOf = (workspace: keyof typeof names) =>
      lines.filter(({ text }) => names[workspace].some((name) => text.includes(name)));
    for (const [workspace, shown] of [
      ['main', undefined],
      ['other', 'other'],
    ] as const) {
      expect(linesOf(workspace), workspace).to.not.have.length(0);
      for (const { line, text } of linesOf(workspace)) expect(line.workspace, text).to.be.oneOf([workspace, shown]);
    }
    const metrics = (await gateway.metrics()).join('\n');
    for (const name of [...names.main, ...names.other, ...people, 'workspace="', 'device="'])
      expect(metrics, 'what is counted is counted for all').not.to.include(name);
    for (const { text } of lines) for (const person of people) expect(text).not.to.include(person);
  });

  it('let one rest: nothing that is done for the other, or by itself, touches what it has', async () => {
    const { store } = space;
    await gateway.addEvents();
    await askOther('GET', '/events');
    await askOther('POST', '/opt-outs', { phone: makeNumbers(3, 91)[2]! });
    await askOther('POST', '/disconnect');
    await eventually(async () => (await askOther('GET', '/status')).status === 'disconnected', { everyMs: 1_000 });
    // What an owner does in the end goes out before it gives the device back.
    const isReleased = (workspace: string) => async () =>
      (await store.redis.exists(deviceKeys(store.space, { ...OTHER, workspace }).owner)) === 0;
    await eventually(isReleased(OTHER.workspace));
    await eventually(async () => (await findFullOutboxes(store, OTHER.workspace)).length === 0);
    const { value: token } = await createApiToken(store, 'main', { name: 'test', scopes: API_TOKEN_SCOPES });

    const watched = await watchSteps(space.clients.failFast);
    await gateway.link(ACCOUNT!);
    await ask(token, 'GET', '/events');
    await ask(token, 'POST', '/webhooks', { url: 'https://example.com/' });
    const people = makeNumbers(3, 92);
    await ask(token, 'POST', '/contacts/check', { phones: people });
    await ask(token, 'POST', '/otp', { phone: people[0]!, code: '482913' });
    await write(people[2]!, ACCOUNT!, 'STOP');
    await eventually(() => findOptOut(store, 'main', people[2]!));
    const file = { type: 'document', base64: makePdf().toString('base64') };
    const { messageId } = (await gateway.call('POST', '/send', { body: { to: people, attachment: file } })).body;
    await gateway.waitForSend(messageId, { read: 2, failed: 1 });
    await ask(token, 'GET', '/events?after=0');
    await ask(token, 'GET', '/messages');
    await gateway.call('POST', '/disconnect');
    await eventually(isReleased('main'));
    await eventually(async () => (await findFullOutboxes(store, 'main')).length === 0);
    await watched.catchUp();
    watched.close();

    const isNamed = namesWorkspace(store.space, OTHER.workspace);
    const ofOther = watched.steps.filter((step) => step.some(isNamed));
    const { webhooks, eventLog, limits, blobBytes } = workspaceKeys(store.space, OTHER.workspace);
    const lookedAt: Record<string, string> = {
      ...{ hgetall: limits, get: blobBytes, smembers: webhooks, memory: eventLog, xrevrange: eventLog },
      'release-device': deviceKeys(store.space, OTHER).owner,
    };
    const partIn = partsOfWorkspace(store.space, OTHER.workspace);
    const isRound = (step: (typeof ofOther)[number]) => {
      const name = nameOfStep(step);
      const itsKeys = step.flat().filter((word) => partIn(word) === 'whole');
      return name in ROUNDS && (!(name in lookedAt) || itsKeys.every((key) => key === lookedAt[name]));
    };
    expect(ofOther.filter((step) => !isRound(step)).map((step) => JSON.stringify(step))).to.deep.equal([]);
    const isOfMain = namesWorkspace(store.space, 'main');
    const ofMain = watched.steps.filter((step) => step.some(isOfMain)).map(nameOfStep);
    expect(ofMain, 'what was watched').to.include.members(DONE_FOR_MAIN);
  });
});
