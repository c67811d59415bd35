import { node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type Device, makeNumbers, type TestSession, useSessions } from './support/session-fixture.js';

describe('asking for a file that the network has not any more', () => {
  const sessions = useSessions();
  const [friend, other] = makeNumbers(2) as [string, string];
  let device: Device;
  let test: TestSession;

  before(async () => {
    device = await sessions.link();
    test = await sessions.open(device.keyStore);
    await test.next('open');
  });

  async function receiveImage(addressing: 'pn' | 'lid', { from = friend, id }: { from?: string; id?: string } = {}) {
    const body = { to: device.phone, image: { size: 100 }, addressing, ...(id && { id }) };
    const before = test.reports.length;
    const sent = await sessions.admin<{ id: string }>('POST', `phones/${from}/messages`, body);
    const heard = () =>
      test.reports.slice(before).flatMap((report) => (report.event === 'message' ? [report.value] : []));
    const isIt = (message: { platformId: string }) => message.platformId === sent.id;
    const { content, platformId, jid } = await eventually(() => heard().find(isIt));
    if (content.type !== 'image') throw new Error(content.type);
    const { directPath, mediaKey } = content.media;
    return { directPath, lost: { platformId, jid, mediaKey } };
  }

  it('leads to where the phone has uploaded it again', async () => {
    for (const addressing of ['pn', 'lid'] as const) {
      const { directPath, lost } = await receiveImage(addressing);
      expect(await test.session.askForFile(lost)).to.equal(directPath);
      await sessions.admin('POST', 'media/expire');
      const path = await test.session.askForFile(lost);
      expect(path)
        .to.match(/^\/v\//)
        .and.not.to.equal(directPath);
      expect(sessions.simulator.network.media.find(path!)).not.to.equal(undefined);
    }
  });

  it('leads each to its own when two people have sent one under the same id', async () => {
    const files = [await receiveImage('lid', { id: '3ATWO' }), await receiveImage('lid', { from: other, id: '3ATWO' })];
    const [first, second] = await Promise.all(files.map(({ lost }) => test.session.askForFile(lost)));
    expect([first, second]).to.deep.equal(files.map(({ directPath }) => directPath));
    expect(first).not.to.equal(second);
  });

  it('says so when the phone does not have it either, or does not know the message', async () => {
    const { lost } = await receiveImage('lid');
    expect(await test.session.askForFile({ ...lost, platformId: '3AFFFF' })).to.equal(undefined);
    await sessions.admin('POST', 'media/expire?forgotten=true');
    expect(await test.session.askForFile(lost)).to.equal(undefined);
  });

  it('says so when the answer is none, and goes on', async () => {
    const { network } = sessions.simulator;
    const { lost, directPath } = await receiveImage('lid');
    network.faults.add({ on: 'receipt', do: { silent: true }, count: 1 });
    const asked = test.session.askForFile(lost);
    const [linked] = network.accounts.ensure(device.phone).devices.values();
    linked!.mailbox.post(node('notification', { from: lost.jid, type: 'mediaretry', id: lost.platformId, t: '1' }));
    expect(await asked).to.equal(undefined);
    expect(await test.session.askForFile(lost)).to.equal(directPath);
  });

  it('ends with the session', async () => {
    const { lost } = await receiveImage('lid');
    await test.session.close();
    const failure = await test.session.askForFile(lost).catch((error: Error) => error.name);
    expect(failure).to.equal('SessionEndedError');
  });
});
