import {
  type CredentialConfig,
  credentialKeys,
  type GatewayConfig,
  gatewayKeys,
  loggerOptions,
  type OwnerConfig,
  ownerKeys,
  type PaceConfig,
  paceKeys,
} from '@gateway/runtime/config/gateway-config';
import { readConfig } from '@gateway/runtime/config/read-config';
import { expect } from 'chai';
import Joi from 'joi';

const schema = Joi.object<GatewayConfig & CredentialConfig & PaceConfig>({
  ...gatewayKeys,
  ...credentialKeys,
  ...paceKeys,
});
const CREDENTIAL_KEYS = `k1:${'0a'.repeat(32)}`;
const CONTENT_KEYS = `k1:${'0b'.repeat(32)}`;
const ROOT = `root:${'ab'.repeat(32)}`;
const LOCAL = 'ws://127.0.0.1:9000/ws/chat';
const read = (environment: Record<string, string>) =>
  readConfig(schema, { CREDENTIAL_KEYS, CONTENT_KEYS, ...environment });

describe('the shared configuration', () => {
  it('needs nothing but its keys', () => {
    const config = read({});
    expect(config.REDIS_URL).to.equal('redis://127.0.0.1:6379');
    expect(config.KEY_PREFIX).to.equal('gw');
    expect(config.CREDENTIAL_KEYS).to.deep.equal([{ id: 'k1', key: Buffer.alloc(32, 0x0a) }]);
    expect(config.CONTENT_KEYS).to.deep.equal([{ id: 'k1', key: Buffer.alloc(32, 0x0b) }]);
    for (const name of ['CREDENTIAL_KEYS', 'CONTENT_KEYS'])
      expect(() => readConfig(schema, {})).to.throw(`${name} is required`);
  });

  it('reads several encryption keys in their order', () => {
    const config = read({ CONTENT_KEYS: `new:${'01'.repeat(32)}, old:${'02'.repeat(32)}` });
    expect(config.CONTENT_KEYS.map(({ id }) => id)).to.deep.equal(['new', 'old']);
  });

  for (const [what, keys] of [
    ['short keys', 'k1:abcd'],
    ['keys without an id', '0a'.repeat(32)],
    ['two keys of one id', `${CONTENT_KEYS},${CONTENT_KEYS}`],
  ] as const) {
    it(`refuses ${what}, without showing them`, () => {
      expect(() => read({ CONTENT_KEYS: keys }))
        .to.throw(/CONTENT_KEYS must/)
        .with.property('message')
        .that.does.not.include(keys);
    });
  }

  it('refuses a key that is in both rings: the API would have it, too', () => {
    expect(() => read({ CREDENTIAL_KEYS: `other:${'0c'.repeat(32)},${CONTENT_KEYS}` })).to.throw(
      'CREDENTIAL_KEYS must not have a key of CONTENT_KEYS',
    );
  });

  it('refuses sessions that would end before it is known whether the master stands', () => {
    const owner = Joi.object<GatewayConfig & OwnerConfig>({ ...gatewayKeys, ...ownerKeys });
    const ttl = (SESSION_TTL_MS: string, replicas: string, REDIS_URL = 'redis+sentinel://127.0.0.1/mymaster') => {
      const environment = { CONTENT_KEYS, SESSION_TTL_MS, REDIS_WAIT_REPLICAS: replicas, REDIS_URL };
      return readConfig(owner, environment).SESSION_TTL_MS;
    };
    expect(() => ttl('1999', '1')).to.throw(
      'SESSION_TTL_MS must be at least 2000 with Sentinels and REDIS_WAIT_REPLICAS',
    );
    expect(() => ttl('10000', '1', 'redis+sentinel://127.0.0.1')).to.throw('REDIS_URL must end with the name');
    expect([ttl('2000', '1'), ttl('500', '0'), ttl('500', '1', 'redis://127.0.0.1')]).to.deep.equal([2_000, 500, 500]);
  });

  it('says what became of the setting of before', () => {
    expect(() => read({ ENCRYPTION_KEYS: CONTENT_KEYS })).to.throw(
      'ENCRYPTION_KEYS was split in two, CREDENTIAL_KEYS and CONTENT_KEYS: see docs/security.md',
    );
  });

  it('logs pretty or as JSON when asked to, else as the terminal suggests', () => {
    expect(loggerOptions(read({ LOG_FORMAT: 'json' }), 'api')).to.deep.equal({
      service: 'api',
      level: 'info',
      pretty: false,
    });
    expect(loggerOptions(read({}), 'api')).not.to.have.property('pretty');
  });
});

describe('trust and pace', () => {
  it('leads to the real network at a careful pace when nothing is said', () => {
    const config = read({});
    expect(config.MESSENGER_URL).to.equal('wss://web.whatsapp.com/ws/chat');
    expect(config.MESSENGER_TRUST).to.deep.equal({ kind: 'production' });
    expect(config.PACE_PER_MINUTE).to.equal(20);
  });

  it('sends without a limit against a stand-in with a root of its own', () => {
    const config = read({ MESSENGER_URL: LOCAL, MESSENGER_TRUST: ROOT });
    expect(config.MESSENGER_TRUST).to.deep.equal({ kind: 'root', publicKey: Buffer.alloc(32, 0xab) });
    expect(config.PACE_PER_MINUTE).to.equal(0);
  });

  it('stays careful against any other server', () => {
    expect(read({ MESSENGER_URL: LOCAL, MESSENGER_TRUST: 'insecure' }).PACE_PER_MINUTE).to.equal(20);
    expect(read({ MESSENGER_URL: LOCAL }).PACE_PER_MINUTE).to.equal(20);
  });

  for (const trust of ['insecure', ROOT]) {
    for (const url of ['wss://web.whatsapp.com/ws/chat', 'wss://WEB.WhatsApp.com./x', 'wss://e1.whatsapp.net/ws', '']) {
      it(`refuses ${trust.slice(0, 8)} together with the real network at ${url || 'the default address'}`, () => {
        expect(() => read({ MESSENGER_URL: url, MESSENGER_TRUST: trust })).to.throw(
          'MESSENGER_TRUST must be production',
        );
      });
    }
  }

  it('refuses an unlimited pace on the real network only', () => {
    expect(() => read({ PACE_PER_MINUTE: '0' })).to.throw('PACE_PER_MINUTE must not be 0');
    expect(read({ PACE_PER_MINUTE: '0', MESSENGER_URL: LOCAL }).PACE_PER_MINUTE).to.equal(0);
  });

  it('refuses the real network without TLS', () => {
    expect(() => read({ MESSENGER_URL: 'ws://web.whatsapp.com/ws/chat' })).to.throw('MESSENGER_URL must be wss://');
  });

  it('refuses a trust it does not know', () => {
    expect(() => read({ MESSENGER_URL: LOCAL, MESSENGER_TRUST: 'root:123' })).to.throw('MESSENGER_TRUST must be');
  });
});
