import { resolveNumbers, resolveOwnAccount } from '@gateway/messenger/lookup/resolve-numbers';
import { OptionalQueries } from '@gateway/messenger/session/optional-queries';
import type { BinaryNode, USyncQuery } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const element = (tag: string, attrs: Record<string, string> = {}, content?: BinaryNode['content']): BinaryNode =>
  content === undefined ? { tag, attrs } : { tag, attrs, content };
const deviceList = () => element('devices', {}, [element('device-list', {}, [element('device', { id: '0' })])]);
const EMPTY_LIST = element('devices', {}, [element('device-list', {}, [])]);
const PHONE = { id: '0' };
const LINKED = element('device', { id: '3', 'key-index': '3' });
const lid = (val: string) => element('lid', { val });

/** A server that answers a query's users one by one. */
function serverOf(answer: (user: { phone?: string; id?: string }) => BinaryNode | undefined) {
  const queries: USyncQuery[] = [];
  const sock = {
    async executeUSyncQuery(query: USyncQuery) {
      queries.push(query);
      const users = query.users.flatMap((user) => answer(user) ?? []);
      query.parseUSyncQueryResult(
        element('iq', { type: 'result' }, [element('usync', {}, [element('list', {}, users)])]),
      );
    },
  };
  return { sock: sock as never, queries };
}

const phoneDevice = [{ id: 0, isHosted: false }];

describe('resolving numbers', () => {
  it('takes the account that the network names, whose number may be another', async () => {
    const { sock, queries } = serverOf(({ phone }) =>
      element('user', { jid: '551187654321@s.whatsapp.net' }, [
        element('contact', { type: 'in' }, phone),
        deviceList(),
        lid('7@lid'),
      ]),
    );
    const resolved = await resolveNumbers(sock, ['5511987654321']);
    expect(resolved.get('5511987654321')).to.deep.equal({
      account: { jid: '551187654321@s.whatsapp.net', lid: '7@lid', devices: phoneDevice },
    });
    expect(queries).to.have.length(1);
  });

  it('asks by jid where a server does not tell devices by number', async () => {
    const { sock, queries } = serverOf(({ phone, id }) =>
      phone
        ? element('user', { jid: `${phone.slice(1)}@s.whatsapp.net` }, [element('contact', { type: 'in' }, phone)])
        : element('user', { jid: id! }, [deviceList(), lid('7@lid')]),
    );
    const resolved = await resolveNumbers(sock, ['49171']);
    expect(resolved.get('49171')).to.deep.equal({
      account: { jid: '49171@s.whatsapp.net', lid: '7@lid', devices: phoneDevice },
    });
    expect(queries).to.have.length(2);
  });

  it('asks by jid if a server has no lookup by number', async () => {
    const { sock } = serverOf(({ id }) => (id ? element('user', { jid: id }, [deviceList()]) : undefined));
    const resolved = await resolveNumbers(sock, ['49171']);
    expect(resolved.get('49171')).to.deep.equal({
      account: { jid: '49171@s.whatsapp.net', lid: undefined, devices: phoneDevice },
    });
  });

  it('says that a number does not exist when the network says so, or knows nothing of it', async () => {
    const { sock } = serverOf(({ phone }) =>
      phone === '+1' ? element('user', {}, [element('contact', { type: 'out' }, phone)]) : undefined,
    );
    const resolved = await resolveNumbers(sock, ['1', '2']);
    expect([...resolved.values()]).to.deep.equal([{ exists: false }, { exists: false }]);
  });

  it('asks for devices by hidden identifier where the list by number is empty, and believes no empty list', async () => {
    const { sock, queries } = serverOf(({ phone, id }) => {
      const devices = id === '7@lid' ? deviceList() : EMPTY_LIST;
      if (!phone) return element('user', { jid: id! }, [devices]);
      const jid = phone === '+491' ? '7@lid' : '8@lid';
      const contact = element('contact', { type: 'in' }, phone);
      return element('user', { jid, pn_jid: `${phone.slice(1)}@s.whatsapp.net` }, [contact, devices]);
    });
    const resolved = await resolveNumbers(sock, ['491', '492']);
    expect(resolved.get('491')).to.deep.equal({
      account: { jid: '491@s.whatsapp.net', lid: '7@lid', devices: phoneDevice },
    });
    expect(resolved.get('492')).to.deep.equal({ error: 404 });
    expect(queries.map(({ users }) => users.length)).to.deep.equal([2, 2]);
  });

  it('finds both of two spellings in one answer', async () => {
    const { sock } = serverOf(({ phone }) =>
      phone === '+5511987654321'
        ? element('user', { jid: '7@lid', pn_jid: '551187654321@s.whatsapp.net' }, [
            element('contact', { type: 'in' }, '+5511987654321'),
            element('contact', { type: 'in' }, '+551187654321'),
            deviceList(),
          ])
        : undefined,
    );
    const resolved = await resolveNumbers(sock, ['551187654321', '5511987654321']);
    const account = { jid: '551187654321@s.whatsapp.net', lid: '7@lid', devices: phoneDevice };
    expect([...resolved.values()]).to.deep.equal([{ account }, { account }]);
  });

  it('finds ninety-nine numbers although the network refuses every query with the hundredth', async () => {
    const bad = '49199';
    const { sock, queries } = serverOf(({ phone }) => {
      if (phone === `+${bad}`) throw Object.assign(new Error('not-acceptable'), { data: 406 });
      if (!phone) return undefined;
      const contact = element('contact', { type: 'in' }, phone);
      return element('user', { jid: `${phone.slice(1)}@s.whatsapp.net` }, [contact, deviceList()]);
    });
    const numbers = Array.from({ length: 100 }, (_, i) => String(49_100 + i));
    const resolved = await resolveNumbers(sock, numbers);
    const found = numbers.filter((number) => 'account' in resolved.get(number)!);
    expect(found).to.deep.equal(numbers.filter((number) => number !== bad));
    expect(resolved.get(bad)).to.deep.equal({ error: 406 });
    expect(queries.length).to.be.lessThan(20);
  });

  it('asks for its own devices by hidden identifier, by number where that tells nothing, and has a phone at the least', async () => {
    const own = '491@s.whatsapp.net';
    const answers = new Map<string, BinaryNode>();
    const { sock } = serverOf(({ id }) => element('user', { jid: id! }, [answers.get(id!) ?? EMPTY_LIST]));
    Object.assign(sock, { user: { id: '491:3@s.whatsapp.net', lid: '7:3@lid' } });
    const devices = async () => (await resolveOwnAccount(sock, own)).devices.map(({ id }) => id);
    expect(await devices()).to.deep.equal([0]);
    answers.set(own, element('devices', {}, [element('device-list', {}, [element('device', PHONE), LINKED])]));
    expect(await devices()).to.deep.equal([0, 3]);
    answers.set('7@lid', deviceList());
    expect(await resolveOwnAccount(sock, own)).to.deep.equal({ jid: own, lid: '7@lid', devices: phoneDevice });
  });

  it('says that an empty list of its own devices is a guess: those known before, else the phone', async () => {
    const { sock } = serverOf(({ id }) => element('user', { jid: id! }, [EMPTY_LIST]));
    Object.assign(sock, { user: { id: '491:3@s.whatsapp.net' } });
    const guess = { jid: '491@s.whatsapp.net', lid: undefined, isGuess: true };
    expect(await resolveOwnAccount(sock, guess.jid)).to.deep.equal({ ...guess, devices: phoneDevice });
    const known = [...phoneDevice, { id: 4, isHosted: false }];
    expect(await resolveOwnAccount(sock, guess.jid, known)).to.deep.equal({ ...guess, devices: known });
  });

  it('does not take an account without devices for one that can be written to', async () => {
    const empty = element('devices', {}, [element('device-list', {}, [])]);
    const { sock } = serverOf(({ phone }) =>
      element('user', { jid: '1@s.whatsapp.net' }, [element('contact', { type: 'in' }, phone ?? '+1'), empty]),
    );
    expect((await resolveNumbers(sock, ['1'])).get('1')).to.deep.equal({ error: 404 });
  });

  it('takes no empty list for the word that there is no account, also where numbers are not to be looked up', async () => {
    const { sock } = serverOf(({ id }) => (id ? element('user', { jid: id }, [EMPTY_LIST]) : undefined));
    expect((await resolveNumbers(sock, ['1'])).get('1'), 'asked by number, too').to.deep.equal({ error: 404 });
    const optional = new OptionalQueries(new Set(['lookUpByNumber']));
    expect((await resolveNumbers(sock, ['1'], { optional })).get('1')).to.deep.equal({ error: 404 });
    const { sock: silent } = serverOf(() => undefined);
    expect((await resolveNumbers(silent, ['1'], { optional })).get('1')).to.deep.equal({ error: 404 });
  });

  it('does not take a refused query by jid for the word that there is no account', async () => {
    const { sock } = serverOf(({ phone, id }) => {
      if (id?.startsWith('491@')) throw Object.assign(new Error('not-acceptable'), { data: 406 });
      if (phone !== '+492') return undefined;
      return element('user', { jid: '492@s.whatsapp.net' }, [element('contact', { type: 'in' }, phone), deviceList()]);
    });
    const resolved = await resolveNumbers(sock, ['491', '492']);
    expect(resolved.get('491')).to.deep.equal({ error: 406 });
    expect(resolved.get('492')).to.have.property('account');
  });

  it('finds in an answer under the hidden identifier the account that was asked for by jid', async () => {
    const { sock } = serverOf(({ id }) =>
      id ? element('user', { jid: '7@lid', pn_jid: id }, [deviceList()]) : undefined,
    );
    expect((await resolveNumbers(sock, ['491'])).get('491')).to.deep.equal({
      account: { jid: '491@s.whatsapp.net', lid: '7@lid', devices: phoneDevice },
    });
  });
});
