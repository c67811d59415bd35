import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { parse } from 'yaml';

export interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}
interface Dashboard {
  uid: string;
  title: string;
  panels: { id: number; title: string; description?: string; targets: { expr: string }[] }[];
}

export const RULES_FOLDER = join(ROOT, 'deploy/prometheus');

/** What only a Redis Cluster gives a reason for. */
export const ALERTS_OF_CLUSTERS = ['GatewayRedisClockOff'];

/** `slo-rules.yml`, or with `rules.test.yml` their tests. */
export function nameRules(end: 'rules.yml' | 'rules.test.yml' = 'rules.yml'): string[] {
  return readdirSync(RULES_FOLDER).filter((name) => name.endsWith(end));
}

/** Their texts. */
export const readRuleFiles = () => nameRules().map((name) => readFileSync(join(RULES_FOLDER, name), 'utf8'));

export function readRules(): Rule[] {
  return readRuleFiles().flatMap((text) => {
    const { groups } = parse(text) as { groups: { rules: Rule[] }[] };
    return groups.flatMap(({ rules }) => rules);
  });
}

export function readDashboards(): Dashboard[] {
  const folder = join(ROOT, 'deploy/grafana');
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard);
}

/** What KEDA asks Prometheus for the number of senders, without what says of which namespace: no cluster has put that into the metrics here. */
export function readScalingQuery(): string {
  const text = readFileSync(join(ROOT, 'k8s/components/keda/sender.yaml'), 'utf8');
  const { spec } = parse(text) as { spec: { triggers: { metadata: { query: string } }[] } };
  return spec.triggers[0]!.metadata.query.replace(/namespace="[^"]*",/, '');
}
