import { resolveNumbers } from '@gateway/messenger/resolve-numbers';
import type { BinaryNode, USyncQuery } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const element = (tag: string, attrs: Record<string, string> = {}, content?: BinaryNode['content']): BinaryNode =>
  content === undefined ? { tag, attrs } : { tag, attrs, content };
const deviceList = () => element('devices', {}, [element('device-list', {}, [element('device', { id: '0' })])]);
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

  it('asks by jid where a server knows no look-up by number at all', async () => {
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

  it('does not take an account without devices for one that can be written to', async () => {
    const empty = element('devices', {}, [element('device-list', {}, [])]);
    const { sock } = serverOf(({ phone }) =>
      element('user', { jid: '1@s.whatsapp.net' }, [element('contact', { type: 'in' }, phone ?? '+1'), empty]),
    );
    expect((await resolveNumbers(sock, ['1'])).get('1')).to.deep.equal({ error: 404 });
  });
});
