import { generate } from 'selfsigned';

export interface TlsIdentity {
  readonly key: string;
  /** Also what clients must trust: it is its own authority. */
  readonly cert: string;
}

/** A certificate for this machine, made now and valid for a year. */
export async function makeTlsIdentity(host: string): Promise<TlsIdentity> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'messenger simulator' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          /^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host },
        ],
      },
    ],
  });
  return { key, cert };
}
