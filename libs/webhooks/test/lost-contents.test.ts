import { forgetReceivedFrom, recordReceived } from '@gateway/store/inbound/received-messages';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const HOUR_MS = 3_600_000;
/** Of the longest, many of which are not held at a time. */
const LONG = 40_000;

describe('messages that had to go for room before a webhook was told of them', () => {
  const { space, address, ownership, stage, create, relay } = useLoggedEndpoint();
  let written = 0;
  beforeEach(() => {
    written = 0;
  });
  /** Each of another person. @param mostBytes only the newest is kept, by default all are. */
  const write = (text: string, mostBytes?: number) => {
    const phone = `49151123${40_000 + ++written}`;
    const message = { platformId: `M${written}`, jid: `${phone}@s.whatsapp.net`, phone, text };
    const room = mostBytes === undefined ? {} : { mostBytes };
    return recordReceived(space.store, ownership, { message, nowMs: Date.now(), ...room });
  };
  /** Without gaps: the log begins with its first event. */
  const textsOf = (events: typeof stage.events) =>
    events.flatMap(({ data }) => (data.content ? (data.content as { text: string | null }).text : []));
  const types = ['message.received'];

  it('are counted once for each endpoint that takes them without their content, whatever it refused before', async () => {
    const [tell, tellOther] = [await create({ types }), await create({ types })];
    await write('one');
    await tell();
    await write('two');
    stage.status = 500;
    await tell();
    await write('three', 0);
    await tell();
    expect(stage.lostContents, 'nothing was taken without it').to.equal(0);
    stage.status = 200;
    stage.aheadMs += HOUR_MS;
    await tell();
    expect(textsOf(stage.events)).to.deep.equal(['one', null, 'three']);
    expect(stage.lostContents).to.equal(1);
    await tellOther();
    expect(textsOf(stage.events.slice(3))).to.deep.equal([null, null, 'three']);
    expect(stage.lostContents).to.equal(3);
  });

  it('are counted once where they were put aside, and not where they are told again', async () => {
    const tell = await create({ types });
    const another = await create({ types, order: 'strict' });
    stage.refuses = ({ data }) => JSON.stringify(data).includes('one');
    for (const text of ['one', 'two', 'three']) await write(text);
    for (let minute = 0; minute < 10; minute++) {
      stage.aheadMs += 60_000;
      await tell();
    }
    expect(textsOf(stage.events)).to.deep.equal(['two', 'three']);
    await write('four', 0);
    stage.aheadMs += HOUR_MS;
    await tell();
    expect(textsOf(stage.events).slice(2)).to.have.members([null, 'four']);
    expect(stage.lostContents).to.equal(1);
    const all = { afterMs: Date.now() - HOUR_MS, beforeMs: Date.now() + HOUR_MS };
    await replayWebhook(space.store, { workspace: 'main', id: tell.id }, all, Date.now() + stage.aheadMs);
    await tell();
    expect(textsOf(stage.events).slice(4)).to.deep.equal([null, null, null, 'four']);
    expect(stage.lostContents).to.equal(1);
    await another();
    expect(stage.lostContents).to.equal(4);
  });

  it('are counted where there were too many long ones to hold: each is read when it is posted', async () => {
    const tell = await create({ types, concurrency: 2 });
    for (const text of ['a', 'b', 'c']) await write(text.repeat(LONG));
    await relay();
    let isFirst = true;
    stage.take = async () => {
      if (isFirst) await write('d', 0);
      isFirst = false;
    };
    await tell();
    expect(textsOf(stage.events).filter((text) => text === null)).to.have.length(stage.lostContents);
    expect(stage.lostContents).to.be.within(1, 2);
  });

  it('are not counted for an endpoint that does not want content, nor where a person was forgotten on request', async () => {
    const [without, tell] = [await create({ types, content: 'none' }), await create({ types })];
    await write('one');
    await write('two', 0);
    await without();
    expect(stage.lostContents).to.equal(0);
    await write('three');
    await forgetReceivedFrom(space.store, address, ({ phone }) => phone?.endsWith('3') === true);
    stage.events = [];
    await tell();
    expect(textsOf(stage.events)).to.deep.equal([null, 'two', null]);
    expect(stage.lostContents, 'the first one').to.equal(1);
  });
});
