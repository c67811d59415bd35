import { deviceKeys } from '@gateway/contracts/redis-keys';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { deviceKeyStore, readAllKeys } from '@gateway/store/devices/keys/device-keys';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { forgetPerson } from '@gateway/store/workspace/people';
import { expect } from 'chai';
import { KNOWN, OTHER, TYPED, useOwnedDevice } from './support/use-owned-device.js';

describe('what the account of a device has kept about a person', () => {
  const { address, space, ownership } = useOwnedDevice();

  const keyOf = (type: string, id: string, value: unknown = 'x') => ({
    ...{ type, id },
    value: Buffer.from(JSON.stringify(value)),
  });
  const pairOf = (number: string, lid: string) => [
    keyOf('lid-mapping', number, lid),
    keyOf('lid-mapping', `${lid}_reverse`, number),
  ];
  async function keep(number: string, lid: string): Promise<void> {
    const addresses = [`${lid}_1.0`, `${lid}_1.77`, `${number}.0`, `${lid}_129.99`];
    await deviceKeyStore(space.store, ownership).commit({
      keys: [
        ...addresses.flatMap((id) => [keyOf('session', id), keyOf('identity-key', id)]),
        ...[keyOf('tctoken', `${lid}@lid`), keyOf('device-list', number, ['0']), ...pairOf(number, lid)],
        keyOf('sender-key', `12036304@g.us::${lid}_1::0`),
      ],
      contacts: [`${lid}@lid`],
    });
    const [platformId, text] = [`ID${number}`, 'hello'];
    const message = { platformId, jid: `${lid}@lid`, text };
    await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
  }
  async function keysLeft(): Promise<string[]> {
    const left: string[] = [];
    for await (const { type, id } of readAllKeys(space.store, address)) left.push(`${type} ${id}`);
    return left.sort();
  }

  it('is forgotten under all their names, for all their devices, and nothing of anyone else', async () => {
    await keep(OTHER, '2');
    const ofOther = await keysLeft();
    await keep(KNOWN, '1');
    // The network gave them another hidden identifier once.
    const former = [keyOf('lid-mapping', '3_reverse', KNOWN), keyOf('session', '3_1.0')];
    await deviceKeyStore(space.store, ownership).commit({ keys: former });
    const restriction = { kind: 'new_chat_cap' as const, sinceMs: 1 };
    await recordRestriction(space.store, ownership, restriction, [KNOWN, OTHER]);

    expect(await forgetPerson(space.store, address, TYPED)).to.deep.equal({
      ...{ session: 5, 'identity-key': 4, 'sender-key': 1, tctoken: 1, 'contact-index': 1, 'device-list': 1 },
      ...{ 'refused-contacts': 1, received: 1, 'lid-mapping': 3 },
    });
    expect(await keysLeft()).to.deep.equal(ofOther);
    const { contactIndex, refusedContacts, received } = deviceKeys(space.store.space, address);
    const { commands } = space.clients;
    expect(await commands.smembers(contactIndex)).to.deep.equal(['2@lid']);
    expect(await commands.smembers(refusedContacts)).to.deep.equal([OTHER]);
    expect(await commands.hkeys(received)).to.deep.equal([`ID${OTHER}`]);
    expect(await forgetPerson(space.store, address, TYPED), 'again').to.deep.equal({});
  });

  it('is forgotten in the credentials, too, which tell who got a message again', async () => {
    const other = [`${OTHER}@s.whatsapp.net`, 2];
    const resends = { sinceMs: 1, counts: [['1@lid', 3], [`${KNOWN}@s.whatsapp.net`, 1], other] };
    const me = { id: `${OTHER}:1@s.whatsapp.net` };
    const keys = deviceKeyStore(space.store, ownership);
    await keys.commit({ creds: JSON.stringify({ me, resends }), keys: pairOf(KNOWN, '1') });
    const { creds, quarantinedCreds } = deviceKeys(space.store.space, address);
    await space.clients.commands.copy(creds, quarantinedCreds);
    expect(await forgetPerson(space.store, address, TYPED)).to.deep.equal({ resends: 2, 'lid-mapping': 2 });
    const left = { me, resends: { sinceMs: 1, counts: [other] } };
    expect(JSON.parse((await keys.readCreds())!)).to.deep.equal(left);
    const setAside = await space.clients.commands.getBuffer(quarantinedCreds);
    expect(JSON.parse(space.store.vault.open(setAside!, 'account', creds).toString())).to.deep.equal(left);
    expect(await forgetPerson(space.store, address, TYPED), 'again').to.deep.equal({});
  });

  it('is forgotten although there are names and messages that cannot be opened, which are counted', async () => {
    await keep(KNOWN, '1');
    await keep(OTHER, '2');
    const { base, received } = deviceKeys(space.store.space, address);
    const { commands } = space.clients;
    for (const bucket of await commands.keys(`${base}:keys:lid-mapping:*`)) {
      if (await commands.hexists(bucket, '2_reverse')) await commands.hset(bucket, '2_reverse', 'not a sealed value');
    }
    await commands.hset(received, `ID${OTHER}`, 'not a sealed value');
    expect(await forgetPerson(space.store, address, KNOWN)).to.include({
      'lid-mapping': 2,
      received: 1,
      unreadable: 2,
    });
  });
});
