import type { DeviceStatus } from '@gateway/contracts/devices/device-state';
import type { StatusCounts } from '@gateway/contracts/sends/statuses';
import { sleep } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';

/** The gateway as its users see it: HTTP and an API token, nothing else. */
export interface ApiClient {
  connect(query: Record<string, string>): Promise<{ status: DeviceStatus; qrCode?: string; pairingCode?: string }>;
  status(): Promise<{ status: DeviceStatus; phone?: string; reason?: string }>;
  send(body: { to: string | string[]; text: string }): Promise<{ messageId: string; recipients: number }>;
  message(messageId: string): Promise<{ status: string; counts: StatusCounts }>;
  /** The recipients of a send, as the gateway has them. */
  recipients(messageId: string): Promise<string[]>;
  /** For tokens with the scope `events`. */
  events(query: Record<string, string>): Promise<EventPage>;
  disconnect(): Promise<{ message?: string }>;
}

export interface EventPage {
  events: { type: string; data: { changes?: { messageId: string; index: number; status: string }[] } }[];
  nextCursor: string;
}

interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
}

const PAGE = 1_000;

export function apiClient(baseUrl: string, token: string): ApiClient {
  const call = <Answer>(request: Call) => callApi<Answer>(baseUrl, token, request);
  return {
    connect: (query) => call({ method: 'POST', path: `/connect?${new URLSearchParams(query)}` }),
    status: () => call({ method: 'GET', path: '/status' }),
    send: (body) => call({ method: 'POST', path: '/send', body }),
    message: (messageId) => call({ method: 'GET', path: `/messages/${messageId}?limit=1` }),
    recipients: async (messageId) => {
      const numbers: string[] = [];
      for (let cursor: string | null = '0'; cursor !== null; ) {
        const path = `/messages/${messageId}?limit=${PAGE}&cursor=${cursor}`;
        const page: RecipientPage = await call({ method: 'GET', path });
        numbers.push(...page.recipients.map(({ to }) => to));
        cursor = page.nextCursor;
      }
      return numbers;
    },
    events: (query) => call({ method: 'GET', path: `/events?${new URLSearchParams(query)}` }),
    disconnect: () => call({ method: 'POST', path: '/disconnect' }),
  };
}

interface RecipientPage {
  recipients: { to: string }[];
  nextCursor: string | null;
}

/** One request. When the token has used up its minute it waits, as the answer says, and asks again. */
async function callApi<Answer>(baseUrl: string, token: string, { method, path, body }: Call): Promise<Answer> {
  for (;;) {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer & Refusal;
    if (response.ok) return answer;
    if (response.status !== 429) throw refused(`${method} ${path.split('?')[0]}`, response.status, answer);
    await sleep((answer.resetIn ?? 1) * 1_000);
  }
}

interface Refusal {
  error?: string;
  details?: unknown;
  /** Seconds, when the token has used up its minute. */
  resetIn?: number;
}

function refused(what: string, status: number, answer: Refusal): GatewayError {
  const details = answer.details ? ` ${JSON.stringify(answer.details)}` : '';
  return new GatewayError({
    code: 'api_refused',
    message: `${what} was answered with ${status} ${answer.error}${details}`,
  });
}
