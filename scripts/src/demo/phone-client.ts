import { GatewayError } from '@gateway/runtime/errors';

/** What one phone showed of one message. */
export interface Delivery {
  to: string;
  id: string;
  from: string;
  text: string;
  /** How often the phone showed it to its owner. */
  shown: number;
}

/** The simulated phones, as their owners use and see them. */
export interface PhoneClient {
  /** `again`: the network wants the code that is shown next to be scanned, too. */
  scanQr(number: string, qrText: string): Promise<'linked' | 'again'>;
  /** @param account.addressing the namespace of its conversations: hidden identifiers, or numbers. */
  enterCode(account: { number: string; addressing: 'lid' | 'pn' }, code: string): Promise<void>;
  /** Everything that phones received from this number. */
  deliveries(from: string): Promise<Delivery[]>;
}

const CONFLICT = 409;

export function phoneClient(adminUrl: string): PhoneClient {
  return {
    scanQr: async (number, qrText) => {
      const url = `${adminUrl}/admin/mock-phone/scan-qr?number=${number}`;
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: qrText });
      const text = await response.text();
      if (response.status === CONFLICT && text.includes('scan again')) return 'again';
      if (!response.ok) throw refusal(url, response.status, text);
      return 'linked';
    },
    enterCode: async (account, code) => {
      const body = JSON.stringify({ ...account, code });
      const headers = { 'content-type': 'application/json' };
      await ask(`${adminUrl}/admin/mock-phone/enter-code`, { method: 'POST', headers, body });
    },
    deliveries: async (from) => {
      const response = await ask(`${adminUrl}/admin/deliveries?from=${from}`);
      const answer = (await response.json()) as Delivery[] | { deliveries: Delivery[] };
      return Array.isArray(answer) ? answer : answer.deliveries;
    },
  };
}

async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  if (response.ok) return response;
  throw refusal(url, response.status, await response.text());
}

function refusal(url: string, status: number, text: string): GatewayError {
  const message = `the simulator answered ${status} to ${new URL(url).pathname}: ${text}`;
  return new GatewayError({ code: 'simulator_refused', message });
}
