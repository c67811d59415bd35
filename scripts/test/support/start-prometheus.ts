import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@gateway/scripts/gateway/find-free-port';
import { eventually } from '@gateway/testkit/eventually';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { stringify } from 'yaml';

interface Sample {
  metric: Record<string, string>;
  value: [number, string];
}

export interface Prometheus {
  url: string;
  ask(expr: string): Promise<Sample[]>;
  /** From now on it looks at these processes, and no more at those of before. */
  lookAt(services: readonly ServiceProcess[]): Promise<void>;
  /** The names of alerts that fire now; of one of an objective also with that: `GatewayErrorBudgetBurns otp`. */
  listFiring(): Promise<string[]>;
  stop(): Promise<void>;
}

/**
 * A real one, which looks at these processes and has seen all of them once.
 * @param options.rules text of rule files.
 */
export async function startPrometheus(options: {
  services: readonly ServiceProcess[];
  rules: readonly string[];
  everySeconds: number;
}): Promise<Prometheus> {
  const { services, rules, everySeconds } = options;
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
  const file = join(folder, 'targets.json');
  /** It follows the file. */
  const lookAt = async (found: readonly ServiceProcess[]) => {
    const targets = await Promise.all(
      found.map(async (service) => {
        const { opsPort } = await service.waitForLog((line) => typeof line.opsPort === 'number');
        return `127.0.0.1:${opsPort}`;
      }),
    );
    writeFileSync(`${file}.new`, JSON.stringify([{ targets }]));
    renameSync(`${file}.new`, file);
  };
  await lookAt(services);
  const rule_files = rules.map((text, i) => {
    const rulesFile = join(folder, `${i}-rules.yml`);
    writeFileSync(rulesFile, text);
    return rulesFile;
  });
  const every = `${everySeconds}s`;
  const config = {
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
    ...{
      rule_files,
      scrape_configs: [{ job_name: 'gateway', file_sd_configs: [{ files: [file], refresh_interval: every }] }],
    },
  };
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
  const address = `127.0.0.1:${await findFreePort()}`;
  const paths = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const prometheus = spawn('prometheus', [...paths, `--web.listen-address=${address}`], { stdio: 'ignore' });
  await once(prometheus, 'spawn');
  const url = `http://${address}`;
  const ask = async (expr: string): Promise<Sample[]> => {
    const answer = await fetch(`${url}/api/v1/query`, { method: 'POST', body: new URLSearchParams({ query: expr }) });
    const { data, error } = (await answer.json()) as { data?: { result: Sample[] }; error?: string };
    if (!data) throw new Error(`${expr}: ${error}`);
    return data.result;
  };
  const stop = async () => {
    if (prometheus.exitCode === null) {
      prometheus.kill();
      await once(prometheus, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually(async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true);
    await eventually(async () => (await ask('up == 1')).length === services.length);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  const listFiring = async () => {
    const firing = await ask('ALERTS{alertstate="firing"}');
    return [
      ...new Set(
        firing.flatMap(({ metric: { alertname, slo } }) => [alertname!, ...(slo ? [`${alertname} ${slo}`] : [])]),
      ),
    ];
  };
  return { url, ask, lookAt, listFiring, stop };
}
