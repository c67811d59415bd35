import type { EncryptionKey } from '@gateway/runtime/config/encryption-keys';
import { createVault as createVaultOf, keyIdOf, UnknownKeyError, type Vault } from '@gateway/store/core/vault';
import { expect } from 'chai';

const oldKey = { id: '2025', key: Buffer.alloc(32, 1) };
const newKey = { id: '2026', key: Buffer.alloc(32, 2) };
const PLACE = 'gw:{#34}:main/default:creds';

/** With the same keys in both rings, for one purpose. */
function createVault(keys: readonly EncryptionKey[]) {
  const vault = createVaultOf({ credentials: keys, contents: keys });
  return {
    seal: (plain: string, place: string) => vault.seal(plain, 'account', place),
    open: (sealed: Buffer, place: string) => vault.open(sealed, 'account', place),
  };
}

describe('the vault', () => {
  it('makes digests that follow from all their parts, and from the key', () => {
    const key = Buffer.alloc(32, 1);
    const vault = createVaultOf({ credentials: [], contents: [{ id: 'a', key }] });
    const other = createVaultOf({ credentials: [], contents: [{ id: 'a', key: Buffer.alloc(32, 2) }] });
    const parts = ['ab', 'c', 1];
    expect(vault.digest('messageId', parts)).to.deep.equal(vault.digest('messageId', parts));
    const digests = [vault.digest('messageId', parts), other.digest('messageId', parts)];
    for (const others of [
      ['a', 'bc', 1],
      ['abc', 1],
      ['ab', 'c', 2],
      ['ab', 'c'],
    ])
      digests.push(vault.digest('messageId', others));
    expect(new Set(digests.map((digest) => digest.toString('hex'))).size).to.equal(digests.length);
  });

  it('gives back what was sealed, also nothing at all', () => {
    const vault = createVault([newKey]);
    for (const plain of ['hello', '', 'x'.repeat(100_000)]) {
      expect(vault.open(vault.seal(plain, PLACE), PLACE).toString()).to.equal(plain);
    }
  });

  it('shows nothing of the value, and never seals it the same way twice', () => {
    const vault = createVault([newKey]);
    const [one, other] = [vault.seal('attack at dawn', PLACE), vault.seal('attack at dawn', PLACE)];
    expect(one.includes('attack')).to.equal(false);
    expect(one.equals(other)).to.equal(false);
  });

  it('refuses a value of which any one byte was changed', () => {
    const vault = createVault([newKey]);
    const sealed = vault.seal('pay 10', PLACE);
    for (let at = 0; at < sealed.length; at++) {
      const tampered = Buffer.from(sealed);
      tampered.writeUInt8(tampered.readUInt8(at) ^ 1, at);
      expect(() => vault.open(tampered, PLACE), `byte ${at}`).to.throw();
    }
  });

  it('refuses a value that was cut short', () => {
    const vault = createVault([newKey]);
    const sealed = vault.seal('pay 10', PLACE);
    for (let length = 0; length < sealed.length; length++) {
      expect(() => vault.open(sealed.subarray(0, length), PLACE), `${length} bytes`).to.throw();
    }
  });

  it('refuses a value that was copied to another place', () => {
    const vault = createVault([newKey]);
    expect(() => vault.open(vault.seal('x', PLACE), 'gw:{#43}:main/other:creds')).to.throw();
  });

  it('opens values of older keys after a rotation, and seals with the first key', () => {
    const before = createVault([oldKey]).seal('kept', PLACE);
    const rotated = createVault([newKey, oldKey]);
    expect(rotated.open(before, PLACE).toString()).to.equal('kept');
    expect(createVault([newKey]).open(rotated.seal('new', PLACE), PLACE).toString()).to.equal('new');
  });

  it('says of a key, or a layout, that it does not know (yet) that it is unknown, and of everything else that it is broken', () => {
    const sealed = createVault([oldKey]).seal('x', PLACE);
    expect(keyIdOf(sealed)).to.equal('2025');
    expect(() => createVault([newKey]).open(sealed, PLACE)).to.throw(UnknownKeyError);
    const later = Buffer.from(sealed);
    later.writeUInt8(sealed[0]! + 1, 0);
    expect(() => createVault([oldKey]).open(later, PLACE)).to.throw(UnknownKeyError);
    const broken = Buffer.from(sealed);
    broken.writeUInt8(sealed.at(-1)! ^ 1, sealed.length - 1);
    for (const value of [broken, Buffer.from('x'), Buffer.alloc(0)]) {
      expect(() => createVault([oldKey]).open(value, PLACE))
        .to.throw(Error)
        .and.not.be.instanceOf(UnknownKeyError);
    }
  });

  it('opens for no other purpose than it was sealed for, with the same key in the same place', () => {
    const vault = createVaultOf({ credentials: [oldKey], contents: [oldKey] });
    const purposes = ['account', 'session', 'content', 'file', 'upload', 'received', 'idKey'] as const;
    for (const purpose of purposes) {
      const sealed = vault.seal('x', purpose, PLACE);
      for (const other of purposes.filter((each) => each !== purpose)) {
        expect(() => vault.open(sealed, other, PLACE), `${purpose} as ${other}`).to.throw();
      }
    }
  });

  it('opens and seals nothing of a ring that it has no keys of', () => {
    const api: Vault = createVaultOf({ credentials: [], contents: [newKey] });
    const sender = createVaultOf({ credentials: [oldKey], contents: [newKey] });
    expect(api.open(sender.seal('x', 'content', PLACE), 'content', PLACE).toString()).to.equal('x');
    expect(() => api.open(sender.seal('x', 'account', PLACE), 'account', PLACE)).to.throw(UnknownKeyError);
    expect(() => api.seal('x', 'session', PLACE)).to.throw(UnknownKeyError);
  });
});
