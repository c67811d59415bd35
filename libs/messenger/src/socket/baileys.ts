// The one door to Baileys: nothing of it may run before the curve is in place, libsignal is fast, bounded and quiet, and what it
// inflates is bounded.
import '../keys/bounded-ratchet.js';
import '../keys/fast-curve.js';
import '../keys/fast-derivation.js';
import '../keys/fast-random.js';
import '../frames/bound-inflate.js';
import './silence-libsignal.js';
import { Curve, type UserFacingSocketConfig } from '@whiskeysockets/baileys';
import { endBound } from '../frames/bound-inflate.js';
import { fastCurve } from '../keys/fast-curve.js';

export {
  type AuthenticationCreds,
  type AuthenticationState,
  aesEncryptCTR,
  areJidsSameUser,
  type BinaryNode,
  Browsers,
  BufferJSON,
  binaryNodeToString,
  buildAckStanza,
  buildPairingQRData,
  bytesToCrockford,
  type CacheStore,
  Curve,
  DEFAULT_CONNECTION_CONFIG,
  DEFAULT_ORIGIN,
  DisconnectReason,
  decodeMediaRetryNode,
  decryptMediaRetryData,
  derivePairingCodeKey,
  encryptMediaRetryRequest,
  extractE2ESessionFromRetryReceipt,
  type FullJid,
  generateSignalPubKey,
  getAllBinaryNodeChildren,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  getBinaryNodeChildren,
  getBinaryNodeChildUInt,
  getCompanionPlatformId,
  getMediaKeys,
  initAuthCreds,
  jidDecode,
  jidEncode,
  jidNormalizedUser,
  makeWASocket,
  NACK_REASONS,
  normalizeMessageContent,
  prepareWAMessageMedia,
  proto,
  S_WHATSAPP_NET,
  type SignalDataSet,
  type SignalDataTypeMap,
  type SignalRepositoryWithLIDStore,
  USyncContactProtocol,
  USyncQuery,
  USyncUser,
  type UserFacingSocketConfig,
  unpadRandomMax16,
  WA_CERT_DETAILS,
} from '@whiskeysockets/baileys';

/** A socket of the library, all layers. */
export type BaileysSocket = ReturnType<typeof import('@whiskeysockets/baileys').makeWASocket>;
export type BaileysLogger = NonNullable<UserFacingSocketConfig['logger']>;

endBound();

// If Baileys was imported earlier, it has copies of the slow functions: its own wrapper gets the fast ones here.
Curve.generateKeyPair = () => {
  const { pubKey, privKey } = fastCurve.generateKeyPair();
  return { public: pubKey.subarray(1), private: privKey };
};
Curve.sharedKey = (privateKey, publicKey) => fastCurve.calculateAgreement(publicKey, privateKey);
Curve.sign = (privateKey, message) => fastCurve.calculateSignature(privateKey, message);
Curve.verify = (publicKey, message, signature) => {
  try {
    return fastCurve.verifySignature(publicKey, message, signature);
  } catch {
    return false;
  }
};
