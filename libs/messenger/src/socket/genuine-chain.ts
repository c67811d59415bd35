import { isGenuine } from '../keys/fast-curve.js';
import { UntrustedServerError } from '../session/session-errors.js';
import { proto } from './baileys.js';

/**
 * Throws unless root -> intermediate -> leaf are signed by each other, in date, and the leaf is about `serverKey`.
 * @param root Curve25519 public key, 32 bytes.
 */
export function assertGenuineChain(
  { leaf, intermediate }: proto.CertChain,
  root: Uint8Array,
  serverKey: Uint8Array,
  nowMs: number,
): void {
  const issuer = readCertificate(intermediate, 'intermediate', root, nowMs);
  const { key } = readCertificate(leaf, 'leaf', issuer.key, nowMs);
  if (!Buffer.from(key).equals(serverKey)) throw new UntrustedServerError('the leaf is about another key');
}

function readCertificate(
  certificate: proto.CertChain.INoiseCertificate | null | undefined,
  name: string,
  issuerKey: Uint8Array,
  nowMs: number,
) {
  const { details, signature } = certificate ?? {};
  if (!details || !signature) throw new UntrustedServerError(`no ${name} certificate`);
  if (!isGenuine(issuerKey, details, signature)) throw new UntrustedServerError(`false signature of the ${name}`);
  const { key, notBefore, notAfter } = proto.CertChain.NoiseCertificate.Details.decode(details);
  if (!key) throw new UntrustedServerError(`no key in the ${name}`);
  const now = nowMs / 1000;
  if (now < seconds(notBefore) || now > seconds(notAfter, Number.POSITIVE_INFINITY)) {
    throw new UntrustedServerError(`the ${name} is out of date`);
  }
  return { key };
}

/** Certificates without dates are always valid: simulators tend to leave them out. */
function seconds(date: unknown, absent = 0): number {
  const value = Number(date ?? 0);
  return value > 0 ? value : absent;
}
