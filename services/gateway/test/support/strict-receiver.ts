import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { GatewayEvent } from '@gateway/contracts/events/events';
import { makePng } from '@gateway/testkit/sample-files';
import { Webhook } from 'standardwebhooks';
import { checkEvent } from '../../../api/test/support/openapi-check.js';

export interface StrictReceiver {
  url: string;
  /** Of a request that was answered. */
  events: GatewayEvent[];
  /** What is wrong with requests: it is not as the OpenAPI document has it, or signed with no known secret. */
  wrong: string[];
  /** Secrets (`whsec_`) and public keys (`whpk_`) that we were shown, with the number of requests that each has verified. */
  verifiers: Map<string, number>;
  /** How many were verified by two of them, as while a secret is replaced. */
  verifiedTwice: number;
  close(): void;
}

/** A server of endpoints, which looks at each request as their owners should; and of one picture, for those who GET. */
export async function startReceiver(answer: (event: GatewayEvent) => number, words: string): Promise<StrictReceiver> {
  const server = createServer(async (req, res) => {
    const body = await text(req);
    if (req.method === 'GET') return void res.setHeader('content-type', 'image/png').end(makePng(8, 8));
    const event = JSON.parse(body) as GatewayEvent;
    try {
      checkEvent(event);
      countVerifiers(receiver, req.headers, body);
    } catch (thrown) {
      receiver.wrong.push(String(thrown));
    }
    const status = answer(event);
    receiver.events.push(event);
    res.writeHead(status).end(words);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const receiver: StrictReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ events: [], wrong: [], verifiers: new Map(), verifiedTwice: 0 },
    close: () => void server.close(),
  };
  return receiver;
}

function countVerifiers(receiver: StrictReceiver, headers: IncomingHttpHeaders, body: string): void {
  const { verifiers } = receiver;
  const those = [...verifiers.keys()].filter((each) => isVerifiedBy(each, headers as Record<string, string>, body));
  if (those.length === 0) throw new Error(`signed with no known secret: ${headers['webhook-id']}`);
  if (those.length > 1) receiver.verifiedTwice++;
  for (const each of those) verifiers.set(each, verifiers.get(each)! + 1);
}

function isVerifiedBy(verifier: string, headers: Record<string, string>, body: string): boolean {
  if (verifier.startsWith('whpk_')) return isSignedByKey(verifier.slice('whpk_'.length), headers, body);
  try {
    new Webhook(verifier).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

/** Which the library of the standard cannot verify. */
function isSignedByKey(base64: string, headers: Record<string, string>, body: string): boolean {
  const x = Buffer.from(base64, 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  return headers['webhook-signature']!.split(' ').some((each) => {
    const [scheme, signature = ''] = each.split(',');
    return scheme === 'v1a' && verify(null, signed, key, Buffer.from(signature, 'base64'));
  });
}
