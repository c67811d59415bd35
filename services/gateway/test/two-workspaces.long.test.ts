import { partsOfWorkspace } from '@gateway/contracts/keys-of-workspace';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { codeAfter } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import { watchSteps } from '@gateway/testkit/redis-servers/watch-steps';
import { scanCodes } from '@gateway/testkit/scan-codes';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const [ACCOUNT, OTHER_ACCOUNT] = ['491700000091', '491700000092'];
/** What is read of answers here. */
interface Told {
  phone?: string;
  qrCode: string;
  messageId: string;
  counts?: { read: number };
}

const WORKSPACES = ['main', 'other'];
const OTHER = { workspace: 'other', device: 'default' };

describe('two workspaces with a device of the same name, in the same processes', () => {
  const { space, simulator, gateway, write, shown } = useGateway({
    ...{ senders: 2, env: { LOG_LEVEL: 'debug' } },
  });

  it('are linked to accounts of their own; each sends what it was told to, and hears the STOP of its own people; no step of Redis touches keys of both, and no line of a log names both', async () => {
    const { value: token, token: otherToken } = await createApiToken(space.store, OTHER.workspace, { name: 'test' });
    const askOther = async (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'k' };
      const answer = await fetch(`${gateway.baseUrl}${path}`, {
        ...{ method, headers },
        ...(body && { body: JSON.stringify(body) }),
      });
      return (await answer.json()) as Told;
    };
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
});
