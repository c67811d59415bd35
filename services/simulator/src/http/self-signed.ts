import { generate } from 'selfsigned';

export interface TlsIdentity {
  readonly key: string;
  /** Also what clients must trust: it is its own authority. */
  readonly cert: string;
}

/**
 * A certificate for this machine, made now and valid for a year.
 * @param options.alone for this name only.
 */
export async function makeTlsIdentity(host: string, { alone = false } = {}): Promise<TlsIdentity> {
  const names = alone ? [host] : ['localhost', '127.0.0.1', host];
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'messenger simulator' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: names.map((name) => (/^[\d.]+$/.test(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  });
  return { key, cert };
}
