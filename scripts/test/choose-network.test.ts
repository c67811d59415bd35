import { networkInterfaces } from 'node:os';
import { chooseNetwork, placeOf } from '@gateway/scripts/gateway/choose-network';
import { expect } from 'chai';

const chosen = (messengerUrl?: string) => chooseNetwork({ simulator: false, messengerUrl });

describe('the network of a gateway on this machine', () => {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const here = [
    'ws://127.0.0.1:9000/ws/chat',
    'ws://127.9.9.9:1',
    'wss://localhost:9000',
    'ws://LOCALHOST.:9000',
    'ws://network.localhost',
    'ws://[::1]:9000/ws/chat',
    ...own.filter(({ family }) => family === 'IPv4').map(({ address }) => `ws://${address}:9000`),
  ];
  for (const url of here) {
    it(`is a stand-in at ${url}`, () => {
      expect(chosen(url)).to.deep.equal({ kind: 'standIn', url });
    });
  }

  for (const url of [
    undefined,
    'wss://web.whatsapp.com/ws/chat',
    'wss://localhost.example.com',
    'ws://128.0.0.1',
    'x',
  ]) {
    it(`is not taken for a stand-in with ${url}`, () => {
      expect(chosen(url)).to.deep.equal({ kind: 'real' });
    });
  }

  it('is the simulator when that is asked for, whatever the URL', () => {
    expect(chooseNetwork({ simulator: true, messengerUrl: here[0] })).to.deep.equal({ kind: 'simulator' });
  });

  it('has data of its own', () => {
    const simulator = chooseNetwork({ simulator: true, messengerUrl: undefined });
    const places = [chosen(), chosen(here[0]), chosen(here[1]), simulator].map(placeOf);
    expect(new Set(places.map(({ folder }) => folder)).size).to.equal(4);
    expect(new Set(places.map(({ keySuffix }) => keySuffix)).size).to.equal(4);
  });
});
