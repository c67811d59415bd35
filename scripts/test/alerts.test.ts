import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';
import { parse } from 'yaml';

const FOLDER = join(ROOT, 'deploy/prometheus');
const files = readdirSync(FOLDER);
const named = (end: string) => files.filter((name) => name.endsWith(end));
const read = (name: string) => parse(readFileSync(join(FOLDER, name), 'utf8'));

interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}
const rules: Rule[] = named('rules.yml').flatMap((name) =>
  read(name).groups.flatMap((group: { rules: Rule[] }) => group.rules),
);
const alerts = rules.filter(({ alert }) => alert !== undefined);

function promtool(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

describe('the alerts of deploy/prometheus', function () {
  this.timeout(60_000);

  it('are rules that Prometheus takes', () => {
    const { status, said } = promtool('check', 'rules', ...named('rules.yml'));
    expect(status, said).to.equal(0);
    expect(said).not.to.match(/duplicate|FAILED/);
  });

  it('fire, and are silent, when their tests say', () => {
    const { status, said } = promtool('test', 'rules', ...named('rules.test.yml'));
    expect(status, said).to.equal(0);
  });

  it('have each a test in which it fires, and one in which it does not', () => {
    type Case = { alertname: string; exp_alerts: unknown[] };
    const cases: Case[] = named('rules.test.yml').flatMap((name) =>
      read(name).tests.flatMap((test: { alert_rule_test: Case[] }) => test.alert_rule_test),
    );
    const fires = (isFiring: boolean) =>
      new Set(cases.filter(({ exp_alerts }) => exp_alerts.length > 0 === isFiring).map(({ alertname }) => alertname));
    expect([...fires(true)]).to.have.members(alerts.map(({ alert }) => alert));
    expect([...fires(false)]).to.have.members(alerts.map(({ alert }) => alert));
  });

  it('say how urgent they are, and lead to their sections of the runbook, of which none is left over', () => {
    const slos = new Set(rules.map(({ labels }) => labels?.slo).filter((slo) => slo !== undefined));
    const linked = alerts.flatMap(({ alert, labels, annotations }) => {
      expect(labels?.severity, alert).to.be.oneOf(['critical', 'warning']);
      const [path, anchor] = annotations!.runbook_url!.split('#');
      expect(path).to.equal('docs/runbook.md');
      return anchor!.includes('$labels.slo') ? [...slos].map((slo) => `slo-${slo}`) : [anchor!];
    });
    const text = readFileSync(join(ROOT, 'docs/runbook.md'), 'utf8');
    const sections = text.split(/^### /m).slice(1);
    expect(sections.map((section) => section.split('\n')[0]!.toLowerCase())).to.have.members([...new Set(linked)]);
    for (const section of sections) expect(section).to.match(/\*\*Means:\*\*[\s\S]*\*\*Look:\*\*[\s\S]*\*\*Do:\*\*/);
  });

  it('ask for metrics that exist', () => {
    const documented = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
    const records = new Set(rules.map(({ record }) => record));
    for (const { expr } of rules) {
      for (const [name] of expr.matchAll(/\bgateway[_:][\w:]+/g)) {
        if (records.has(name)) continue;
        expect(documented, expr).to.include(`\`${name.replace(/_(bucket|sum|count)$/, '')}\``);
      }
    }
  });
});
