import { mediaSource } from '@gateway/media/media-source';
import { expect } from 'chai';

describe('a file of the network', () => {
  const config = { NAT64_PREFIXES: [] };

  it('is asked only of its own hosts, whatever a message says, and at public addresses', () => {
    const { hostsOf, policy } = mediaSource({ ...config, MESSENGER_URL: 'wss://web.whatsapp.com/ws/chat' });
    expect(policy).to.deep.equal({ ports: [443], addresses: { allowed: [], nat64: [] } });
    const [near, all] = ['media-ams2-1.cdn.whatsapp.net', 'mmg.whatsapp.net'];
    expect(hostsOf(near), 'what a server near the writer lost').to.deep.equal([near, all]);
    expect(hostsOf(all)).to.deep.equal([all]);
    const odd = [
      'evil.example',
      'whatsapp.net',
      'xwhatsapp.net',
      'mmg.whatsapp.net:8443',
      'mmg.whatsapp.net.evil.example',
    ];
    for (const host of [undefined, ...odd]) expect(hostsOf(host)).to.deep.equal([all]);
    const simulated = mediaSource({ ...config, MESSENGER_URL: 'ws://127.0.0.1:1234/ws/chat' });
    expect(simulated.hostsOf('127.0.0.1:99')).to.deep.equal(['127.0.0.1:99']);
  });
});
