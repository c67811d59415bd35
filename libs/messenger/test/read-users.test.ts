import { readUsers } from '@gateway/messenger/lookup/read-users';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const element = (tag: string, attrs: Record<string, string> = {}, content?: BinaryNode['content']): BinaryNode =>
  content === undefined ? { tag, attrs } : { tag, attrs, content };
const answer = (users: BinaryNode[], result: BinaryNode[] = []): BinaryNode =>
  element('iq', { type: 'result' }, [
    element('usync', {}, [element('result', {}, result), element('list', {}, users)]),
  ]);
const devices = (...list: Record<string, string>[]) =>
  element('devices', {}, [
    element(
      'device-list',
      {},
      list.map((attrs) => element('device', attrs)),
    ),
  ]);

describe('reading the answer to a lookup', () => {
  it('reads a contact with its LID and devices', () => {
    const [user] = readUsers(
      answer([
        element('user', { jid: '49171@s.whatsapp.net' }, [
          element('contact', { type: 'in' }, Buffer.from('+49171')),
          element('lid', { val: '99@lid' }),
          devices({ id: '0' }, { id: '4', 'key-index': '2' }, { id: '99', 'key-index': '3', is_hosted: 'true' }),
        ]),
      ]),
    );
    expect(user).to.deep.equal({
      name: '49171@s.whatsapp.net',
      jid: '49171@s.whatsapp.net',
      asked: ['49171'],
      isContact: true,
      lid: '99@lid',
      devices: [
        { id: 0, isHosted: false },
        { id: 4, isHosted: false },
        { id: 99, isHosted: true },
      ],
      error: undefined,
    });
  });

  it('reads both names of an account that is named by its hidden identifier, and every number it was asked for', () => {
    const [known, unknown, invalid] = readUsers(
      answer([
        element('user', { jid: '99@lid', pn_jid: '551187654321@s.whatsapp.net' }, [
          element('contact', { type: 'in' }, '+5511987654321'),
          element('contact', { type: 'in' }, '+551187654321'),
        ]),
        element('user', { pn_jid: '1@s.whatsapp.net' }, [element('contact', { type: 'out' }, '+1')]),
        element('user', { jid: 'undefined' }, [element('contact', { type: 'invalid' }, '+2')]),
      ]),
    );
    expect(known).to.deep.include({
      name: '99@lid',
      jid: '551187654321@s.whatsapp.net',
      lid: '99@lid',
      asked: ['5511987654321', '551187654321'],
      isContact: true,
    });
    expect(unknown).to.deep.include({ jid: '1@s.whatsapp.net', lid: undefined, asked: ['1'], isContact: false });
    expect(invalid).to.deep.include({ lid: undefined, asked: ['2'], isContact: false });
  });

  it('leaves out a device that has not finished linking', () => {
    const [user] = readUsers(
      answer([element('user', { jid: '1@s.whatsapp.net' }, [devices({ id: '0' }, { id: '5' })])]),
    );
    expect(user?.devices).to.deep.equal([{ id: 0, isHosted: false }]);
  });

  it('gives each user its own error, at any depth', () => {
    const error = (code: string) => element('error', { code });
    const users = readUsers(
      answer([
        element('user', { jid: '1@s.whatsapp.net' }, [element('contact', { type: 'in' }, '+1')]),
        element('user', { jid: '2@s.whatsapp.net' }, [element('devices', {}, [error('403')])]),
        element('user', { jid: '3@s.whatsapp.net' }, [error('500')]),
        element('user', {}, [element('contact', { type: 'out' }, '+4')]),
      ]),
    );
    expect(users.map((user) => user.error)).to.deep.equal([undefined, 403, 500, undefined]);
    expect(users[3]).to.deep.include({ asked: ['4'], isContact: false });
  });

  it('counts the refusal of a part for everyone', () => {
    const refusal = element('devices', {}, [element('error', { code: '429' })]);
    const users = readUsers(answer([element('user', { jid: '1@s.whatsapp.net' }, [])], [refusal]));
    expect(users[0]?.error).to.equal(429);
  });

  it('reads nothing from no answer', () => {
    expect(readUsers(undefined)).to.deep.equal([]);
  });
});
