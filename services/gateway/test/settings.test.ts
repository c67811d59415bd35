import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { findUnknownSettings } from '@gateway/gateway/find-unknown-settings';
import { SETTINGS } from '@gateway/gateway/settings';
import { readConfig } from '@gateway/runtime/config/read-config';
import { expect } from 'chai';
import { makeSettingsTable } from './support/settings-table.js';

const CONTENT_KEYS = `k1:${'0b'.repeat(32)}`;

describe('docs/settings.md', () => {
  it('has every setting, as the code declares it', () => {
    const page = readFileSync('docs/settings.md', 'utf8');
    const table = makeSettingsTable();
    const made = page.replace(/^\| setting [\s\S]*?\n\n/m, () => `${table}\n\n`);
    mkdirSync('build', { recursive: true });
    writeFileSync('build/settings.md', made);
    expect(page, 'copy build/settings.md, which was just made, to docs/settings.md').to.equal(made);
  });
});

describe('variables that look like settings, but are none', () => {
  const known = new Set(Object.values(SETTINGS).flatMap((schema) => Object.keys(schema.describe().keys as object)));
  const find = (...names: string[]) => findUnknownSettings(names, known);

  for (const [setting, nearest] of [
    ['DASHBORD_PORT', 'DASHBOARD_PORT'],
    ['REDIS_URI', 'REDIS_URL'],
    ['CONTENT_KEY_FILE', 'CONTENT_KEYS'],
    ['MAX_DEVICE', 'MAX_DEVICES'],
    ['PACE_PER_MIN', 'PACE_PER_MINUTE'],
    ['ATTACHMENT_PORT', 'ATTACHMENT_PORTS'],
    ['ROLE', 'ROLES'],
    ['MESSENGER_URI', 'MESSENGER_URL'],
  ] as const) {
    it(`name what was meant by ${setting}`, () => {
      expect(find(setting)).to.deep.equal([{ setting, nearest }]);
    });
  }

  it('are not those of others, of Kubernetes, nor of other roles', () => {
    const others = ['PATH', 'HOME', 'HOSTNAME', 'NODE_ENV', 'NODE_OPTIONS', 'TZ', 'LANG', 'npm_package_name', 'PWD'];
    const links = ['DASHBOARD_SERVICE_HOST', 'DASHBOARD_PORT_80_TCP_ADDR', 'KUBERNETES_PORT_443_TCP'];
    expect(find(...others, ...links, 'API_PORT', 'REDIS_URL_FILE')).to.deep.equal([]);
  });
});

describe('settings that contradict each other', () => {
  for (const [role, settings, problem] of [
    [
      'api',
      { MAX_CONNECTIONS: '10', MAX_CONNECTIONS_PER_ADDRESS: '11' },
      'MAX_CONNECTIONS_PER_ADDRESS must not be above MAX_CONNECTIONS',
    ],
    ['api', { API_PORT: '9090', OPS_PORT: '9090' }, 'API_PORT must not be OPS_PORT'],
    ['dashboard', { DASHBOARD_PORT: '9090', OPS_PORT: '9090' }, 'DASHBOARD_PORT must not be OPS_PORT'],
    ['dashboard', { DASHBOARD_PORT: '3000' }, 'DASHBOARD_PORT must not be API_PORT'],
    ['connection', { CREDENTIAL_KEYS: `k2:${'0b'.repeat(32)}` }, 'CREDENTIAL_KEYS must not have a key of CONTENT_KEYS'],
    [
      'api',
      { BODY_BUDGET_BYTES: String(2 ** 50) },
      'BODY_BUDGET_BYTES must be below the memory that the process may have',
    ],
    [
      'api',
      { ATTACHMENT_NETWORKS: '10.1.0.0/16', ATTACHMENT_DENIED_NETWORKS: 'fd00::/8,10.0.0.0/8' },
      'ATTACHMENT_DENIED_NETWORKS must leave something of each network in ATTACHMENT_NETWORKS',
    ],
    [
      'api',
      { WEBHOOK_NETWORKS: 'fd00::/64', WEBHOOK_DENIED_NETWORKS: 'fd00::/64' },
      'WEBHOOK_DENIED_NETWORKS must leave something of each network in WEBHOOK_NETWORKS',
    ],
    [
      'events',
      { WEBHOOK_NETWORKS: '10.2.0.0/16,10.1.0.0/16', WEBHOOK_DENIED_NETWORKS: '10.1.0.0/16' },
      'WEBHOOK_DENIED_NETWORKS must leave something of each network in WEBHOOK_NETWORKS',
    ],
  ] as const) {
    it(`of the ${role} are refused: ${problem}`, () => {
      const read = () => readConfig<object>(SETTINGS[role] as never, { CONTENT_KEYS, ...settings });
      expect(read).to.throw(`invalid configuration: ${problem}`);
    });
  }

  it('may deny a part of what they allow', () => {
    const networks = { WEBHOOK_NETWORKS: '10.0.0.0/8', WEBHOOK_DENIED_NETWORKS: '10.1.0.0/16,::/0' };
    readConfig<object>(SETTINGS.events as never, { CONTENT_KEYS, ...networks });
  });

  it('may be those of an API on another machine, at the port of the console', () => {
    readConfig<object>(SETTINGS.dashboard as never, {
      CONTENT_KEYS,
      DASHBOARD_PORT: '3000',
      API_URL: 'http://api:3000',
    });
  });

  it('may name any free port twice', () => {
    readConfig<object>(SETTINGS.api as never, { CONTENT_KEYS, API_PORT: '0', OPS_PORT: '0' });
  });
});
