/** How a device is to be linked: by a picture that the phone scans, or by a code that a person types there. */
export type LinkMethod = { method: 'qr' } | { method: 'pairing' /** Digits. */; phone: string };
