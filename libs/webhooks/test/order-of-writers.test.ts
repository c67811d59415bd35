import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const HOUR_MS = 3_600_000;
const [ANN, BEN] = ['491511234001', '491511234002'];
const HIDDEN = '123456789012345@lid';

describe('what one person writes, told to a webhook', () => {
  const { space, ownership, stage, create } = useLoggedEndpoint();
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
});
