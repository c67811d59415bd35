import type { Incoming } from '@gateway/store/inbound/incoming-messages';
import { readEdit } from '@gateway/store/inbound/read-edit';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

const [PHONE, HIDDEN_ID] = ['491512000007', '170000000007@lid'];
const BY_NUMBER = { jid: `${PHONE}@s.whatsapp.net`, phone: PHONE };
const BY_HIDDEN_ID = { jid: HIDDEN_ID, hiddenId: HIDDEN_ID };

describe('a sealed edit', () => {
  const { address, space, ownership } = useOwnedDevice();

  /** What is read of an edit by this writer, of a message that came under those names, and under which names its words were sought. */
  async function read(writer: Partial<Incoming>, original: { jid: string; phone?: string; hiddenId?: string }) {
    const [nowMs, platformId] = [Date.now(), `3A${Math.random()}`];
    await recordReceived(space.store, ownership, {
      message: { ...original, platformId, text: '9', secret: 's' },
      nowMs,
    });
    const content = { type: 'edited', to: { platformId }, isSealed: true } as const;
    const message = { platformId: '3AEDIT', jid: 'x', text: '', content, atMs: nowMs, ...writer, sealedEdit: 'sealed' };
    let sought: readonly string[] = [];
    const openEdit = (_: string, { writers }: { writers: readonly string[] }) => {
      sought = writers;
      return 'ten';
    };
    const { text } = await readEdit(space.store, address, { message, nowMs, openEdit });
    return { text, sought };
  }

  it('is of the same person where only the keys know that', async () => {
    const { text, sought } = await read({ ...BY_NUMBER, storedHiddenId: HIDDEN_ID }, BY_HIDDEN_ID);
    expect(text).to.equal('ten');
    expect(sought).to.have.members([BY_NUMBER.jid, HIDDEN_ID]);
  });

  it('is of no other person', async () => {
    expect(await read(BY_NUMBER, BY_HIDDEN_ID)).to.deep.equal({ text: '', sought: [] });
  });
});
