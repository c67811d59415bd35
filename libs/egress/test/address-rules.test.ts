import { type AddressRules, judgeAddress, parseNat64Prefixes, parseNetworks } from '@gateway/egress/address-rules';
import { expect } from 'chai';

describe('rules of addresses', () => {
  const judge = (address: string, rules: Partial<AddressRules> = {}) =>
    judgeAddress(address, { allowed: [], ...rules });

  it('let public addresses through', () => {
    for (const address of [
      '1.1.1.1',
      '8.8.8.8',
      '93.184.216.34',
      '168.63.129.17',
      '2606:4700:4700::1111',
      '::ffff:8.8.8.8',
    ]) {
      expect(judge(address), address).to.equal('public');
    }
  });

  it('keep special ones out, plain and mapped', () => {
    for (const address of ['169.254.169.254', '169.254.0.1', '168.63.129.16', '127.0.0.1', '10.1.2.3', '192.0.0.192']) {
      expect(judge(address), address).to.equal('special');
      expect(judge(`::ffff:${address}`), `mapped ${address}`).to.equal('special');
      expect(judge(`64:ff9b::${address}`), `translated ${address}`).to.equal('special');
    }
    for (const address of ['not an address', '', '3ffe::1', '2002:808:808::', '2001:0:808:808::']) {
      expect(judge(address), address).to.equal('special');
    }
  });

  it('let the operator allow networks, and deny them, which counts more', () => {
    const allowed = parseNetworks('10.1.0.0/16, fd00::/8');
    expect(judge('10.1.2.3', { allowed })).to.equal('allowed');
    expect(judge('::ffff:10.1.2.3', { allowed })).to.equal('allowed');
    expect(judge('fd00::1', { allowed })).to.equal('allowed');
    expect(judge('10.2.0.1', { allowed })).to.equal('special');
    const denied = parseNetworks('10.1.1.0/24, 93.184.216.0/24, 2606:4700::/32');
    expect(judge('10.1.1.1', { allowed, denied })).to.equal('denied');
    for (const address of ['93.184.216.34', '::ffff:93.184.216.34', '64:ff9b::93.184.216.34', '2606:4700:4700::1111']) {
      expect(judge(address, { denied }), address).to.equal('denied');
    }
    expect(judge('1.1.1.1', { denied })).to.equal('public');
  });

  it('look into the prefixes of translators, of every length (RFC 6052, 2.4)', () => {
    // 192.0.2.33 of the RFC's table is for documentation, so it is special; 93.184.216.34 is public.
    const translated = [
      ['2001:db8::/32', '2001:db8:c000:221::', '2001:db8:5db8:d822::'],
      ['2001:db8:100::/40', '2001:db8:1c0:2:21::', '2001:db8:15d:b8d8:22::'],
      ['2001:db8:122::/48', '2001:db8:122:c000:2:2100::', '2001:db8:122:5db8:d8:2200::'],
      ['2001:db8:122:300::/56', '2001:db8:122:3c0:0:221::', '2001:db8:122:35d:b8:d822::'],
      ['2001:db8:122:344::/64', '2001:db8:122:344:c0:2:2100::', '2001:db8:122:344:5d:b8d8:2200::'],
      ['2001:db8:122:344::/96', '2001:db8:122:344::192.0.2.33', '2001:db8:122:344::93.184.216.34'],
    ] as const;
    for (const [prefix, inside, outside] of translated) {
      const nat64 = parseNat64Prefixes(prefix);
      expect(judge(inside, { nat64 }), inside).to.equal('special');
      expect(judge(outside, { nat64 }), outside).to.equal('public');
      expect(judge(outside, { nat64, denied: parseNetworks('93.184.216.34/32') }), outside).to.equal('denied');
    }
    const nat64 = parseNat64Prefixes('2a00:1234::/32, fd64::/96');
    expect(judge('2a00:1234:a9fe:a9fe::', { nat64 })).to.equal('special');
    expect(judge('2a00:1234:808:808:ff00::', { nat64 }), 'byte 8 must be zero').to.equal('special');
    expect(judge('fd64::7f00:1', { nat64, allowed: parseNetworks('fd00::/8') })).to.equal('special');
    expect(judge('fd64::808:808', { nat64 })).to.equal('public');
    for (const wrong of ['10.0.0.0/8', '2001:db8::/33', '2001:db8::', 'nonsense']) {
      expect(() => parseNat64Prefixes(wrong), wrong).to.throw();
    }
  });
});
