import { createCipheriv, createHmac } from 'node:crypto';
import { makeLtHashGenerator, newLTHashState, proto } from '@whiskeysockets/baileys';
import { hkdf, hmacSha256 } from '../crypto/ciphers.js';
import type { Network } from '../network/network.js';
import { saltOf } from './privacy-tokens.js';

export const SALT_COLLECTION = 'regular_high';

const INDEX = Buffer.from('["nct_salt_sync"]');
const SET = proto.SyncdMutation.SyncdOperation.SET;

/** What the settings of an account are sealed with; its phone shares it with each client. */
export function settingsKeyOf({ seed }: Network, number: string): { readonly id: Buffer; readonly secret: Buffer } {
  const secret = seed.derive(`app-state-key/${number}`);
  return { id: secret.subarray(0, 6), secret };
}

/** What the phone of an account has put into the settings before any client did: its salt, where it is to be found there. */
export function saltPatches(network: Network, number: string): Buffer[] {
  const { hasSalt, saltIn } = network.accounts.ensure(number);
  return hasSalt && saltIn === 'settings' ? [sealPatch(network, number, saltOf(network, number))] : [];
}

/** The first patch of its collection. */
function sealPatch(network: Network, number: string, salt: Buffer): Buffer {
  const { id, secret } = settingsKeyOf(network, number);
  const keys = hkdf(secret, 160, { info: 'WhatsApp Mutation Keys' });
  const [indexKey, cipherKey, valueMacKey, snapshotMacKey, patchMacKey] = [0, 1, 2, 3, 4].map((place) =>
    keys.subarray(32 * place, 32 * (place + 1)),
  ) as [Buffer, Buffer, Buffer, Buffer, Buffer];
  const iv = network.seed.derive(`salt-patch/${number}`).subarray(0, 16);
  const cipher = createCipheriv('aes-256-cbc', cipherKey, iv);
  const body = Buffer.concat([iv, cipher.update(saltAction(salt)), cipher.final()]);
  const valueMac = macOfValue(valueMacKey, id, body);
  const indexMac = hmacSha256(indexKey, INDEX);

  const generator = makeLtHashGenerator(newLTHashState());
  generator.mix({ indexMac, valueMac, operation: SET });
  const name = Buffer.from(SALT_COLLECTION);
  const snapshotMac = hmacSha256(snapshotMacKey, Buffer.concat([generator.finish().hash, FIRST, name]));
  const patchMac = hmacSha256(patchMacKey, Buffer.concat([snapshotMac, valueMac, FIRST, name]));
  const record = { index: { blob: indexMac }, value: { blob: Buffer.concat([body, valueMac]) }, keyId: { id } };
  const patch = {
    version: { version: 1 },
    mutations: [{ operation: SET, record }],
    snapshotMac,
    patchMac,
    keyId: { id },
  };
  return Buffer.from(proto.SyncdPatch.encode(patch).finish());
}

/** Its version as it is signed. */
const FIRST = Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]);

/** `SyncActionData` whose value has a field 80 (`NctSaltSyncAction`) with the salt; the library's definitions have none. */
function saltAction(salt: Buffer): Buffer {
  const value = Buffer.concat([Buffer.from([0x82, 0x05, salt.length + 2, 0x0a, salt.length]), salt]);
  const known = proto.SyncActionData.encode({ index: INDEX, version: 1 }).finish();
  return Buffer.concat([known, Buffer.from([0x12, value.length]), value]);
}

function macOfValue(key: Buffer, keyId: Buffer, body: Buffer): Buffer {
  const head = Buffer.concat([Buffer.from([1]), keyId]);
  const end = Buffer.from([0, 0, 0, 0, 0, 0, 0, head.length]);
  return createHmac('sha512', key).update(head).update(body).update(end).digest().subarray(0, 32);
}
