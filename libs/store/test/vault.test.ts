import { createVault } from '@gateway/store/vault';
import { expect } from 'chai';

const oldKey = { id: '2025', key: Buffer.alloc(32, 1) };
const newKey = { id: '2026', key: Buffer.alloc(32, 2) };
const PLACE = 'gw:{main/default}:creds';

describe('the vault', () => {
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
    expect(() => vault.open(vault.seal('x', PLACE), 'gw:{main/other}:creds')).to.throw();
  });

  it('opens values of older keys after a rotation, and seals with the first key', () => {
    const before = createVault([oldKey]).seal('kept', PLACE);
    const rotated = createVault([newKey, oldKey]);
    expect(rotated.open(before, PLACE).toString()).to.equal('kept');
    expect(createVault([newKey]).open(rotated.seal('new', PLACE), PLACE).toString()).to.equal('new');
  });

  it('says of a key that is not configured that it is missing', () => {
    const sealed = createVault([oldKey]).seal('x', PLACE);
    expect(() => createVault([newKey]).open(sealed, PLACE)).to.throw('not configured');
    expect(() => createVault([])).to.throw('at least one');
  });
});
