import { resolveNumbers } from '@gateway/messenger/lookup/resolve-numbers';
import type { BinaryNode, USyncQuery } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const element = (tag: string, attrs: Record<string, string> = {}, content?: BinaryNode['content']): BinaryNode =>
  content === undefined ? { tag, attrs } : { tag, attrs, content };
const DEVICES = element('devices', {}, [element('device-list', {}, [element('device', { id: '0' })])]);
const LID = element('lid', { val: '7@lid' });

/** What one query is answered with, and what it makes of the number 491. */
async function resolve(contact: BinaryNode, ...rest: BinaryNode[]) {
  const sock = {
    async executeUSyncQuery(query: USyncQuery) {
      const users = query.users.map(({ id }) =>
        element('user', { jid: id ?? '491@s.whatsapp.net' }, [contact, ...rest]),
      );
      const list = element('usync', {}, [element('list', {}, users)]);
      query.parseUSyncQueryResult(element('iq', { type: 'result' }, [list]));
    },
  };
  return (await resolveNumbers(sock as never, ['491'])).get('491');
}

describe('a number that the network says is not on the messenger', () => {
  for (const type of ['out', 'invalid', 'unknown']) {
    for (const rest of [[], [DEVICES], [LID], [DEVICES, LID]]) {
      it(`does not exist: "${type}", whatever else comes with it (${rest.map(({ tag }) => tag).join()})`, async () => {
        expect(await resolve(element('contact', { type }, '+491'), ...rest)).to.deep.equal({ exists: false });
      });
    }
  }

  it('does exist with the word "in" and the same devices', async () => {
    expect(await resolve(element('contact', { type: 'in' }, '+491'), DEVICES, LID)).to.have.nested.property(
      'account.lid',
    );
  });
});
