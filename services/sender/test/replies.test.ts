import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries, type ShownMessage } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { makePng, makeWav } from '@gateway/testkit/sample-files';
import { expect } from 'chai';

const ACCOUNT = '491700000041';

type Shown = ShownMessage & { details?: Record<string, unknown> };

describe('replies, end to end', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator, inOneProcess: true });
    await gateway.link(ACCOUNT);
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const send = (body: object) => gateway.call('POST', '/send', { body });
  const shown = (text: string, count: number) =>
    eventually(async () => {
      const all = (await readDeliveries(simulator, ACCOUNT)) as Shown[];
      const found = all.filter((message) => message.text === text && message.shown > 0);
      return found.length === count && found.sort((a, b) => a.to.localeCompare(b.to));
    });

  it('quote for each recipient of a list the message that they got themselves', async () => {
    const numbers = makeNumbers(5, 70);
    const { body } = await send({ to: numbers, text: 'shall we meet?' });
    const questions = await shown('shall we meet?', 5);
    expect((await send({ to: numbers.slice(1), text: 'at six', existingMessageId: body.messageId })).status).to.equal(
      202,
    );
    const answers = await shown('at six', 4);
    for (const [i, answer] of answers.entries()) {
      const question = questions[i + 1]!;
      expect(answer.to).to.equal(question.to);
      expect(answer.details).to.deep.equal({
        quoted: question.id,
        // The account's conversations are by hidden identifier, and so is every name in them.
        quotedFrom: simulator.network.directory.jidOf(ACCOUNT, 'lid'),
        quotedText: 'shall we meet?',
      });
    }
  });

  it('find what people got however their number is written', async () => {
    const { body } = await send({ to: '5511987654321', text: 'coffee?' });
    const [question] = await shown('coffee?', 1);
    await send({ to: '551187654321', text: 'or tea?', existingMessageId: body.messageId });
    const [answer] = await shown('or tea?', 1);
    expect(answer?.details).to.include({ quoted: question!.id });
  });

  it('quote one message by its id at the network', async () => {
    const [number] = makeNumbers(1, 71) as [string];
    await send({ to: number, text: 'first' });
    const [first] = await shown('first', 1);
    await send({ to: number, text: 'second', existingMessageId: first!.id });
    const [second] = await shown('second', 1);
    expect(second!.details).to.include({ quoted: first!.id, quotedText: 'first' });
  });

  it('quote what a person wrote to the account', async () => {
    const [friend] = makeNumbers(1, 72) as [string];
    const written = await fetch(`${simulator.adminUrl}/admin/phones/${friend}/messages`, {
      method: 'POST',
      body: JSON.stringify({ to: ACCOUNT, text: 'are you open on Sunday?' }),
    });
    const { id } = (await written.json()) as { id: string };
    await eventually(
      async () => {
        const { status } = await send({ to: friend, text: 'from ten to four', existingMessageId: id });
        return status === 202;
      },
      { everyMs: 300 },
    );
    const [answer] = await shown('from ten to four', 1);
    expect(answer!.details).to.include({ quoted: id, quotedText: 'are you open on Sunday?' });
    expect(answer!.details!.quotedFrom).to.match(/@(s\.whatsapp\.net|lid)$/);
  });

  it('quote a picture, and are one', async () => {
    const [number] = makeNumbers(1, 74) as [string];
    const picture = { type: 'image', base64: makePng(32, 20).toString('base64') };
    await send({ to: number, attachment: { ...picture, caption: 'this one?' } });
    const [question] = await shown('this one?', 1);
    await send({ to: number, attachment: { ...picture, caption: 'no, that' }, existingMessageId: question!.id });
    const [answer] = await shown('no, that', 1);
    expect(answer).to.include({ type: 'image' });
    expect(answer!.details).to.include({ intact: true, quoted: question!.id, quotedText: 'this one?' });
  });

  it('quote, of several parts, with the first', async () => {
    const [number] = makeNumbers(1, 75) as [string];
    await send({ to: number, text: 'how does it sound?' });
    const [question] = await shown('how does it sound?', 1);
    const attachment = { type: 'audio', base64: makeWav(1).toString('base64') };
    await send({ to: number, attachment, text: 'like this', existingMessageId: question!.id });
    const [text] = await shown('like this', 1);
    const [, sound] = (await readDeliveries(simulator, ACCOUNT)).filter(({ to }) => to === number) as Shown[];
    expect(sound).to.include({ type: 'audio' });
    expect(sound!.details).to.include({ quoted: question!.id, quotedText: 'how does it sound?' });
    expect(text!.details ?? {}).not.to.have.property('quoted');
  });

  it('quote also when the phone has to ask for the message again', async () => {
    const [number] = makeNumbers(1, 73) as [string];
    await send({ to: number, text: 'before' });
    const [before] = await shown('before', 1);
    const [device] = simulator.network.accounts.ensure(ACCOUNT).devices.keys();
    simulator.network.phones.phone(number).forgetSession(ACCOUNT, device!);
    await send({ to: number, text: 'after', existingMessageId: before!.id });
    const [after] = await shown('after', 1);
    expect(after!.arrivals).to.be.greaterThan(1);
    expect(after!.details).to.include({ quoted: before!.id, quotedText: 'before' });
  });
});
