import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const HOUR_MS = 3_600_000;
const [ANN, BEN] = ['491511234001', '491511234002'];
const HIDDEN = '123456789012345@lid';

describe('what one person writes, told to a webhook', () => {
  const { space, ownership, stage, create, accept, record } = useLoggedEndpoint();
  let written = 0;
  beforeEach(() => {
    written = 0;
  });
  /** Answers nothing; texts are `1`, `2`, and so on. */
  const write = (who: { jid: string; phone?: string; hiddenId?: string }) => {
    const message = { platformId: `3A${++written}`, ...who, text: String(written), atMs: Date.now() };
    return recordIncoming(space.store, ownership, { message, nowMs: Date.now() });
  };
  const textsOf = (events: typeof stage.events) => events.map(({ data }) => (data.content as { text: string }).text);
  const refuseFirst = () => {
    let isBroken = true;
    stage.refuses = ({ data }) => isBroken && (data.content as { text: string }).text === '1';
    return () => {
      isBroken = false;
    };
  };
  /** A refused event is put aside while others pass. */
  const tellFor = async (tell: () => Promise<string>, ms: number) => {
    for (const end = stage.aheadMs + ms; stage.aheadMs < end; stage.aheadMs += 60_000) await tell();
  };

  const WAYS = {
    'under a number': [{ jid: `${ANN}@s.whatsapp.net`, phone: ANN! }],
    'under a hidden identifier, before their number is known': [{ jid: HIDDEN }, { jid: HIDDEN, phone: ANN! }],
    'under a number, and then under the hidden identifier that was named with it': [
      { jid: `${ANN}@s.whatsapp.net`, phone: ANN!, hiddenId: HIDDEN },
      { jid: HIDDEN },
    ],
  };
  for (const [way, [first, then = first]] of Object.entries(WAYS)) {
    it(`waits for what they wrote before, ${way}`, async () => {
      const tell = await create({ types: ['message.received'] });
      const mend = refuseFirst();
      await write(first!);
      await write(then!);
      for (let other = 0; other < 3; other++) await write({ jid: `${BEN}@s.whatsapp.net`, phone: BEN! });
      await tellFor(tell, HOUR_MS);
      expect(textsOf(stage.events)).to.deep.equal(['3', '4', '5']);
      mend();
      await tellFor(tell, HOUR_MS);
      expect(textsOf(stage.events)).to.deep.equal(['3', '4', '5', '1', '2']);
    });
  }

  it('is put aside in as little room where the phone chose a long id, and is found by it', async () => {
    const tell = await create({ types: ['message.received'] });
    let isBroken = true;
    stage.refuses = ({ data }) => isBroken && data.from === ANN;
    const message = {
      platformId: '-'.repeat(100),
      jid: `${ANN}@s.whatsapp.net`,
      phone: ANN!,
      text: '1',
      atMs: Date.now(),
    };
    await recordIncoming(space.store, ownership, { message, nowMs: Date.now() });
    for (let other = 0; other < 3; other++) await write({ jid: `${BEN}@s.whatsapp.net`, phone: BEN! });
    await tellFor(tell, HOUR_MS);
    const place = { workspace: 'main', id: tell.id };
    const parked = await listParked(space.store, place, { limit: 9 });
    expect(parked.map(({ events }) => JSON.stringify(events[0]).length < 250)).to.deep.equal([true]);
    isBroken = false;
    const { id } = stage.posted.find(({ data }) => data.from === ANN)!;
    expect(id.length).to.be.greaterThan(400);
    expect(await replayWebhook(space.store, place, { ids: [id] }, Date.now() + stage.aheadMs)).to.deep.equal({
      unknown: [],
    });
    await tell();
    expect(stage.events.at(-1)!.id).to.equal(id);
    expect(await listParked(space.store, place, { limit: 9 })).to.deep.equal([]);
  });

  describe('under an id that is the name of something else', () => {
    const NAMES = [ANN!, HIDDEN, 'device', 'optout', `recipient ${ANN}`];
    for (const concurrency of [1, 3]) {
      it(`holds nothing else up, and is left out for nothing else (${concurrency} at a time)`, async () => {
        const tell = await create({
          types: ['message.received', 'otp.sent', 'device.connected', 'optout.added'],
          concurrency,
        });
        let isBroken = true;
        stage.refuses = ({ data }) => isBroken && data.from === '491511239999';
        for (const platformId of NAMES) {
          const message = { platformId, jid: '99@lid', phone: '491511239999', text: 'hello', atMs: Date.now() };
          await recordIncoming(space.store, ownership, { message, nowMs: Date.now() });
        }
        await record(await accept([ANN!], 'otp'), 'acked', 0, 1);
        await write({ jid: HIDDEN });
        await addOptOuts(space.store, 'main', { numbers: [BEN!], source: 'api', atMs: 1_000 });
        await tellFor(tell, HOUR_MS);
        const names = () => stage.events.map(({ type, data }) => `${type} ${data.platformMessageId ?? ''}`.trim());
        expect(names()).to.include.members(['otp.sent', 'message.received 3A1', 'optout.added']);
        isBroken = false;
        await tellFor(tell, HOUR_MS);
        expect(names()).to.have.members([
          ...['otp.sent', 'message.received 3A1', 'optout.added'],
          ...NAMES.map((name) => `message.received ${name}`),
        ]);
      });
    }

    it('drops nothing that is refused once, with what has that name taken', async () => {
      const tell = await create({ types: ['message.received', 'otp.sent'], concurrency: 2 });
      let refused = 0;
      stage.refuses = ({ type }) => type === 'otp.sent' && refused++ === 0;
      const message = { platformId: ANN!, jid: '99@lid', phone: '491511239999', text: 'mine', atMs: Date.now() };
      await recordIncoming(space.store, ownership, { message, nowMs: Date.now() });
      await record(await accept([ANN!], 'otp'), 'acked', 0, 1);
      await tellFor(tell, HOUR_MS);
      expect(stage.events.map(({ type }) => type).sort()).to.deep.equal(['message.received', 'otp.sent']);
    });
  });
});
