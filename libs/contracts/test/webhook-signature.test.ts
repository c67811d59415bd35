import { createPublicKey, verify } from 'node:crypto';
import { makeWebhookSecret, schemeOf, signWebhook, verifierOf } from '@gateway/contracts/webhooks/signature';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';

const BODY = Buffer.from('{"type":"webhook.test","text":"grüße"}');
const HOUR_MS = 3_600_000;

describe('signatures of webhooks', () => {
  const atMs = Date.now();
  const sign = (secrets: Parameters<typeof signWebhook>[0], overrides = {}) =>
    signWebhook(secrets, { id: 'evt_1', atMs, body: BODY, ...overrides });
  const check = (secret: string, headers: Record<string, string>, body = BODY) =>
    new Webhook(secret).verify(body, headers);

  it('are verified by the library of the standard', () => {
    const secret = makeWebhookSecret('v1');
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).to.have.length(32);
    expect(check(secret, sign([{ secret }]))).to.include({ type: 'webhook.test' });
  });

  it('are of the id, the time and each byte', () => {
    const secret = makeWebhookSecret('v1');
    const headers = sign([{ secret }]);
    const changed = [
      { ...headers, 'webhook-id': 'evt_2' },
      { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) },
    ];
    for (const each of changed) expect(() => check(secret, each)).to.throw(/signature/);
    expect(() => check(secret, headers, Buffer.concat([BODY, Buffer.from(' ')]))).to.throw(/signature/);
    expect(() => check(makeWebhookSecret('v1'), headers)).to.throw(/signature/);
  });

  it('are two while a secret is replaced, then one', () => {
    const [old, next] = [makeWebhookSecret('v1'), makeWebhookSecret('v1')];
    const secrets = [{ secret: next }, { secret: old, endsAtMs: atMs + HOUR_MS }];
    for (const each of [old, next]) check(each, sign(secrets));
    const later = sign([{ secret: next }, { secret: old, endsAtMs: atMs }]);
    check(next, later);
    expect(() => check(old, later)).to.throw(/signature/);
    expect(later['webhook-signature'].split(' ')).to.have.length(1);
  });

  it('can be of ed25519, for receivers who shall have no secret', () => {
    const secret = makeWebhookSecret('v1a');
    expect(schemeOf(secret)).to.equal('v1a');
    const headers = sign([{ secret }]);
    const [scheme, signature] = headers['webhook-signature'].split(',');
    expect(scheme).to.equal('v1a');
    const x = Buffer.from(verifierOf(secret).slice('whpk_'.length), 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const signed = Buffer.concat([Buffer.from(`evt_1.${headers['webhook-timestamp']}.`), BODY]);
    expect(verify(null, signed, key, Buffer.from(signature!, 'base64'))).to.equal(true);
    expect(verifierOf(secret)).not.to.include(secret.slice('whsk_'.length));
  });
});
