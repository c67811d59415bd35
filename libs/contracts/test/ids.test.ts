import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { makeApiToken, matchesHash, parseApiToken } from '@gateway/contracts/api-token';
import { fromBase32, toBase32 } from '@gateway/contracts/base32';
import {
  isDeviceId,
  makeMessageId,
  maskRequestId,
  parseMessageId,
  shortDeviceId,
  takeOrMakeRequestId,
} from '@gateway/contracts/ids';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'default' };

describe('message ids', () => {
  it('lead back to their device and to the tag of their send', () => {
    const messageId = makeMessageId(address);
    expect(messageId).to.match(/^msg_[0-9a-z]{24}$/);
    const parsed = parseMessageId(messageId)!;
    expect(parsed.shortDeviceId).to.equal(shortDeviceId(address));
    expect(parsed.tag).to.equal(fromBase32(messageId.slice(12)).toString('hex').slice(0, 13));
  });

  it('are refused when they are not ours', () => {
    for (const text of ['', 'msg_', `msg_${'l'.repeat(24)}`, `${makeMessageId(address)}0`])
      expect(parseMessageId(text)).to.equal(undefined);
  });
});

describe('base 32', () => {
  it('reads back whole bytes', () => {
    for (let length = 0; length < 20; length++) {
      const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 97 + length) % 256));
      expect(fromBase32(toBase32(bytes)).equals(bytes)).to.equal(true);
    }
  });
});

describe('API tokens', () => {
  it('are found by their key id and compared by their hash', () => {
    const { keyId, token, hash } = makeApiToken();
    expect(parseApiToken(token)).to.deep.equal({ keyId });
    expect(matchesHash(token, hash)).to.equal(true);
    expect(matchesHash(makeApiToken().token, hash)).to.equal(false);
    expect(hash).to.equal(createHash('sha256').update(token).digest('hex'));
    expect(hash).not.to.include(token.slice(20, 40));
  });

  it('fail on a single mistyped character', () => {
    const { token } = makeApiToken();
    const at = token.length - 12;
    const wrong = token.slice(0, at) + (token[at] === '0' ? '1' : '0') + token.slice(at + 1);
    for (const text of [wrong, '', 'gw_', token.toUpperCase(), `${token} `])
      expect(parseApiToken(text)).to.equal(undefined);
  });
});

/** As made today: its first characters are the time. */
const makeUlid = () =>
  `01KAN${Array.from(randomBytes(21), (byte) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'[byte % 32]).join('')}`;

describe('names', () => {
  it('take only what is safe in keys, headers and logs', () => {
    expect(['default', 'phone-1', 'a'.repeat(40)].every(isDeviceId)).to.equal(true);
    expect(['', 'A', 'a b', 'a:b', 'a'.repeat(41), '{x}'].some(isDeviceId)).to.equal(false);
    expect(takeOrMakeRequestId('abc-123')).to.equal('abc-123');
    for (const text of [undefined, '', 'a\nb', 'x'.repeat(101)]) expect(takeOrMakeRequestId(text)).to.match(/^req_/);
  });

  it('of requests name no person', () => {
    const own = [
      'order-7:a.b_c',
      'batch-12345.x6',
      'req_4d6d1a9c-3c12-4a1e-9f41-446655440000',
      '4bf92f3577b34da6a3ce929d0e0e4736',
      '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    ];
    for (const id of own) expect(takeOrMakeRequestId(id)).to.equal(id);
    const numbers = ['447700900123', 'to:447700900123', 'to-44-7700-900.123', '4_4_7_7_0_0_9', 'x447700900123x'];
    const disguised = ['00000000000000000000447700900123', '00000000-0000-0000-0000-447700900123'];
    disguised.push('a447700900123000000000000000000f', '4477009001230000');
    disguised.push('44770090-0123-0a00-c000-abcdefabcdef', '44770090-0123-4a00-8000-000000000000');
    const mixed = [
      '4-4-7-7-0-0a9-00123',
      '4a4b7c7d0e0f9a0b0c1d2e3f',
      '447700a900123',
      '44x7700x900123',
      'otp-44-7700.b.900',
    ];
    mixed.push('447700a900123bcd', '44770090012-3abc4bf92f3577b34da6a3ce929d0e0e4736', '4.4:7_7-0a0b9c');
    for (const id of [...numbers, ...disguised, ...mixed]) expect(takeOrMakeRequestId(id), id).to.match(/^req_/);
  });

  it('of requests that machines made are accepted, whatever digits they contain by chance', () => {
    for (let i = 0; i < 2_000; i++) {
      const [trace, span] = [randomBytes(16).toString('hex'), `a${randomBytes(8).toString('hex').slice(1)}`];
      const uuid = randomUUID();
      // One in 7,000: those are replaced.
      if ([uuid, trace].some((id) => id.replace(/[^a-f]/g, '').length < 3)) continue;
      for (const id of [uuid, trace, `00-${trace}-${span}-01`, makeUlid()]) {
        expect(takeOrMakeRequestId(id)).to.equal(id);
        expect(maskRequestId(id).replaceAll('-', '')).not.to.match(/\d{10}/);
      }
    }
  });

  it('of requests show no whole number in the log', () => {
    const trace = '4bf92f3577b34da6a3c447700900123f';
    expect(takeOrMakeRequestId(trace)).to.equal(trace);
    expect(maskRequestId(trace)).to.equal('4bf92f3577b34da6a3c447***23f');
    const masked = {
      '44770090-0777-4abc-8def-000000000000': '447***-4abc-8def-000***00',
      'abcdef00-abcd-4abc-8def-447700900777': 'abcdef00-abcd-4abc-8def-447***77',
      'abcdefab-abcd-4abc-8abc-abcdef447700.900777': 'abcdefab-abcd-4abc-8abc-abcdef447***77',
    };
    for (const [id, inLog] of Object.entries(masked)) {
      expect(takeOrMakeRequestId(id)).to.equal(id);
      expect(maskRequestId(id)).to.equal(inLog);
    }
    for (const id of ['4bf92f3577b34da6a3ce929d0e0e4736', '4d6d1a9c-3c12-4a1e-9f41-d4665544abcd', 'batch-12345.x6'])
      expect(maskRequestId(id)).to.equal(id);
  });
});
