import { createHash } from 'node:crypto';
import { gcmDecrypt, gcmEncrypt, hkdf } from '@gateway/simulator/crypto/ciphers';
import { agree, type CurveKeyPair, makeKeyPair } from '@gateway/simulator/crypto/curve';
import { Seed } from '@gateway/simulator/crypto/seed';
import { makeServerCredentials } from '@gateway/simulator/wire/certificates';
import { NoiseResponder, PROLOGUE } from '@gateway/simulator/wire/noise-responder';
import { expect } from 'chai';

const PAYLOAD = Buffer.from('who I am');

describe('the handshake of clients that know the server', () => {
  const credentials = makeServerCredentials(new Seed('handshake'), Date.now());

  it('is done with the first message', () => {
    const client = new KnowingClient(credentials.staticKey.publicKey);
    const { hello, client: known } = new NoiseResponder(credentials).answerHello(client.hello());
    expect(hello.static).to.equal(undefined);
    expect(client.readShortAnswer(hello)).to.deep.equal(Buffer.from(credentials.chain));
    expect(known!.staticKey).to.deep.equal(client.own.publicKey);
    expect(known!.payload).to.deep.equal(PAYLOAD);
    expectSameKeys(client, known!.transport);
  });

  it('starts over in the same breath when what they knew is outdated', () => {
    const client = new KnowingClient(makeKeyPair().publicKey);
    const responder = new NoiseResponder(credentials);
    const { hello, client: known } = responder.answerHello(client.hello());
    expect(known).to.equal(undefined);
    const finish = client.fallBack(hello as Required<typeof hello>);
    const identity = responder.finish(finish.static, finish.payload);
    expect(identity.staticKey).to.deep.equal(client.own.publicKey);
    expect(identity.payload).to.deep.equal(PAYLOAD);
    expectSameKeys(client, identity.transport);
  });
});

/** What the server seals, the client opens with the second half of what both derived; the other way with the first. */
function expectSameKeys(client: KnowingClient, transport: ReturnType<NoiseResponder['finish']>['transport']): void {
  const keys = client.keys();
  const { body, tag } = transport.seal(Buffer.from('down'));
  const down = gcmDecrypt(keys.subarray(32), Buffer.alloc(12), Buffer.concat([body, tag]));
  expect(down.toString()).to.equal('down');
  const up = transport.open(gcmEncrypt(keys.subarray(0, 32), Buffer.alloc(12), Buffer.from('up')));
  expect(up.toString()).to.equal('up');
}

/** A client's half of Noise IK, with the way back to XX. */
class KnowingClient {
  readonly own = makeKeyPair();
  readonly #ephemeral = makeKeyPair();
  readonly #server: Buffer;
  #hash: Buffer = Buffer.alloc(0);
  #salt: Buffer = Buffer.alloc(0);
  #key: Buffer = Buffer.alloc(0);
  #counter = 0;

  constructor(server: Buffer) {
    this.#server = server;
  }

  hello() {
    this.#start(Buffer.from('Noise_IK_25519_AESGCM_SHA256\0\0\0\0'));
    this.#mixHash(this.#server);
    this.#mixHash(this.#ephemeral.publicKey);
    this.#mixKey(this.#server, this.#ephemeral);
    const sealedStatic = this.#seal(this.own.publicKey);
    this.#mixKey(this.#server, this.own);
    return { ephemeral: this.#ephemeral.publicKey, static: sealedStatic, payload: this.#seal(PAYLOAD) };
  }

  readShortAnswer(answer: { ephemeral: Buffer; payload: Buffer }): Buffer {
    this.#mixHash(answer.ephemeral);
    this.#mixKey(answer.ephemeral, this.#ephemeral);
    this.#mixKey(answer.ephemeral, this.own);
    return this.#open(answer.payload);
  }

  fallBack(answer: { ephemeral: Buffer; static: Buffer; payload: Buffer }) {
    this.#start(createHash('sha256').update('Noise_XXfallback_25519_AESGCM_SHA256').digest());
    this.#mixHash(this.#ephemeral.publicKey);
    this.#mixHash(answer.ephemeral);
    this.#mixKey(answer.ephemeral, this.#ephemeral);
    this.#mixKey(this.#open(answer.static), this.#ephemeral);
    this.#open(answer.payload);
    const sealedStatic = this.#seal(this.own.publicKey);
    this.#mixKey(answer.ephemeral, this.own);
    return { static: sealedStatic, payload: this.#seal(PAYLOAD) };
  }

  keys(): Buffer {
    return hkdf(Buffer.alloc(0), 64, { salt: this.#salt });
  }

  #start(name: Buffer): void {
    this.#hash = this.#salt = this.#key = Buffer.from(name);
    this.#counter = 0;
    this.#mixHash(PROLOGUE);
  }

  #mixHash(data: Uint8Array): void {
    this.#hash = createHash('sha256').update(this.#hash).update(data).digest();
  }

  #mixKey(theirs: Uint8Array, ours: CurveKeyPair): void {
    const keys = hkdf(agree(theirs, ours.privateKey), 64, { salt: this.#salt });
    this.#salt = keys.subarray(0, 32);
    this.#key = keys.subarray(32);
    this.#counter = 0;
  }

  #iv(): Buffer {
    const iv = Buffer.alloc(12);
    iv.writeUInt32BE(this.#counter++, 8);
    return iv;
  }

  #seal(plaintext: Uint8Array): Buffer {
    const sealed = gcmEncrypt(this.#key, this.#iv(), plaintext, this.#hash);
    this.#mixHash(sealed);
    return sealed;
  }

  #open(sealed: Uint8Array): Buffer {
    const plaintext = gcmDecrypt(this.#key, this.#iv(), sealed, this.#hash);
    this.#mixHash(sealed);
    return plaintext;
  }
}
