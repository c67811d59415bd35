import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { readReceived, recordReceived } from '@gateway/store/inbound/received-messages';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { KNOWN, OTHER, useOwnedDevice } from './support/use-owned-device.js';

const DAY_MS = 24 * 60 * 60 * 1000;

describe('what people write to a device', () => {
  const { address, space, ownership } = useOwnedDevice();

  const hear = (text: string, from: { phone?: string; hiddenId?: string; isPhoneStored?: true }) =>
    recordIncoming(space.store, ownership, {
      message: { platformId: 'ID', jid: '1@lid', text, atMs: Date.now(), ...from },
      nowMs: Date.now(),
    });
  const isOut = async (phone: string) => (await findOptOut(space.store, 'main', phone)) !== undefined;

  it('opts them out and in, and says what has changed', async () => {
    expect(await hear('STOP', { phone: KNOWN })).to.equal('optedOut');
    expect(await hear('stop', { phone: KNOWN })).to.equal(undefined);
    expect(await isOut(KNOWN)).to.equal(true);
    expect(await hear('hello', { phone: KNOWN })).to.equal(undefined);
    expect(await isOut(KNOWN)).to.equal(true);
    expect(await hear('START', { phone: KNOWN })).to.equal('optedIn');
    expect(await hear('START', { phone: KNOWN })).to.equal(undefined);
    expect(await isOut(KNOWN)).to.equal(false);
  });

  it('counts for a number that only a pair in the keys names where there is no other name', async () => {
    await hear('STOP', { phone: KNOWN, isPhoneStored: true });
    expect(await isOut(KNOWN)).to.equal(true);
    await hear('STOP', { phone: OTHER, hiddenId: '5@lid', isPhoneStored: true });
    expect(await isOut(OTHER), 'that pair may be made up').to.equal(false);
    await hear('hello', { phone: OTHER, hiddenId: '5@lid' });
    expect(await isOut(OTHER), 'now the network says so').to.equal(true);
  });

  it('can be quoted for seven days', async () => {
    const message = { platformId: 'ID', jid: '1@lid', text: 'hello' };
    await recordReceived(space.store, ownership, { message, nowMs: DAY_MS });
    const read = (days: number, platformId = 'ID') =>
      readReceived(space.store, address, { platformId, nowMs: days * DAY_MS });
    expect(await read(7.99)).to.deep.equal(message);
    expect(await read(8)).to.equal(undefined);
    expect(await read(2, 'OTHER')).to.equal(undefined);
  });
});
