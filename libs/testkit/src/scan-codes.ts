/** What a person does with a phone in front of a screen with codes. */
export interface Scanner {
  /** Of the simulator. */
  adminUrl: string;
  /** Digits of the phone; without it the simulator takes an unused one. */
  number?: string;
  /** The namespace of its account. Default: the simulator's. */
  addressing?: 'lid' | 'pn';
  /** The code that is shown after this one. */
  nextCode(before: string): Promise<string>;
}

/** The network of 2026 retires the first code when it is scanned. It does so once in an attempt. */
const MAX_SCANS = 2;

/** Scans the code, and the one that is shown next when the network wants that. Throws when the phone does not link. */
export async function scanCodes({ adminUrl, number, addressing, nextCode }: Scanner, first: string): Promise<void> {
  const query = new URLSearchParams({ ...(number && { number }), ...(addressing && { addressing }) });
  let code = first;
  for (let scans = 1; ; scans++) {
    const refusal = await scan(`${adminUrl}/admin/mock-phone/scan-qr?${query}`, code);
    if (refusal === undefined) return;
    if (scans === MAX_SCANS || !refusal.includes('scan again')) throw new Error(`scan refused: ${refusal}`);
    code = await nextCode(code);
  }
}

async function scan(url: string, body: string): Promise<string | undefined> {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body });
  return answer.ok ? void (await answer.body?.cancel()) : answer.text();
}
