import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { findFreePort } from '@gateway/scripts/gateway/find-free-port';
import { ROOT } from '@gateway/scripts/paths';
import { findRedisServer } from '@gateway/scripts/redis/find-redis-server';
import { expect } from 'chai';
import { parse } from 'yaml';

const PASSWORD = 'a3f0c1';

interface Service {
  [key: string]: unknown;
  command?: string[];
  environment?: Record<string, string>;
  healthcheck: { test: string[]; start_period: string };
}

describe('docker-compose.yml', () => {
  const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
  const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };

  it('has no secret in a command line or an environment that it writes down', () => {
    for (const { command = [], healthcheck, environment = {} } of Object.values(services)) {
      expect([...command, ...healthcheck.test].join(' ')).not.to.match(/KEYS|REDIS_URL|\$\{/);
      expect(Object.keys(environment).join(' ')).not.to.match(/KEYS|REDIS_URL|PASSWORD/);
    }
  });

  it('bounds every container: memory, rights, logs, and the time in which its start may be unhealthy', () => {
    for (const [name, service] of Object.entries(services)) {
      expect(service, name).to.include.keys('mem_limit', 'logging', 'healthcheck', 'restart');
      expect(service, name).to.deep.include({ cap_drop: ['ALL'], read_only: true });
      expect(service.healthcheck, name).to.have.property('start_period');
    }
  });

  it('builds each image once', () => {
    const built = Object.entries(services).filter(([, { build }]) => build !== undefined);
    expect(built.map(([name]) => name)).to.deep.equal(['api', 'simulator']);
  });

  it('leads to the simulated network, that of k8s/overlays/dev, unless it is told otherwise', () => {
    const kustomization = readFileSync(join(ROOT, 'k8s/overlays/dev/kustomization.yaml'), 'utf8');
    const [, url] = /MESSENGER_URL=(\S+)/.exec(kustomization)!;
    const [, trust] = /MESSENGER_TRUST=(\S+)/.exec(kustomization)!;
    for (const name of ['api', 'dashboard', 'connection', 'sender', 'events']) {
      expect(services[name]!.environment).to.include({
        MESSENGER_URL: `\${MESSENGER_URL:-${url}}`,
        MESSENGER_TRUST: `\${MESSENGER_TRUST:-${trust}}`,
      });
    }
    expect(services.simulator!.environment).to.include({ SIMULATOR_SEED: 'dev', SIMULATOR_HOST: 'simulator' });
  });

  it('gives Prometheus a configuration that it takes, and every service to look at', () => {
    const file = 'deploy/prometheus/prometheus.yml';
    const args = ['check', 'config', '--syntax-only', join(ROOT, file)];
    expect(spawnSync('promtool', args, { encoding: 'utf8' })).to.include({ status: 0 });
    const { scrape_configs } = parse(readFileSync(join(ROOT, file), 'utf8'));
    const roles = Object.entries(services).filter(([, { environment }]) => environment?.ROLES);
    expect(scrape_configs[0].dns_sd_configs[0].names).to.have.members(roles.map(([name]) => name));
  });

  it('starts a Redis that asks for the password, and is asked for its health with it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'compose-'));
    const passwordFile = join(folder, 'password.conf');
    writeFileSync(passwordFile, `requirepass ${PASSWORD}\n`);
    const port = await findFreePort();
    const here = (part: string) =>
      part
        .replace('/etc/redis/redis.conf', join(ROOT, 'deploy/redis.conf'))
        .replace('/etc/redis/password.conf', passwordFile);
    const { command, healthcheck } = services.redis!;
    const args = command!.slice(1).map(here);
    const placed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    const redis = spawn(await findRedisServer(), [...args, ...placed], { stdio: 'ignore' });
    const exited = once(redis, 'exit');
    const url = `redis://:${PASSWORD}@127.0.0.1:${port}`;
    const clients = createRedisClients({ url, logger: createLogger({ service: 'test', level: 'error' }) });
    try {
      await clients.waitForReady();
      expect(await clients.commands.config('GET', 'requirepass')).to.deep.equal(['requirepass', PASSWORD]);
      expect(redis.spawnargs.join(' ')).not.to.include(PASSWORD);
      const test = here(healthcheck.test[1]!).replaceAll('$$', '$').replace('redis-cli', `redis-cli -p ${port}`);
      const [code] = await once(spawn('sh', ['-c', test], { stdio: 'ignore' }), 'exit');
      expect(code).to.equal(0);
    } finally {
      await clients.close();
      redis.kill();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
