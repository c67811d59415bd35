import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';
import { parse } from 'yaml';
import { nameRules, RULES_FOLDER, readDashboards, readRules } from './support/read-queries.js';

const read = (name: string) => parse(readFileSync(join(RULES_FOLDER, name), 'utf8'));
const rules = readRules();
const alerts = rules.filter(({ alert }) => alert !== undefined);

function promtool(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: RULES_FOLDER, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

describe('the alerts of deploy/prometheus', () => {
  it('are rules that Prometheus takes', () => {
    const { status, said } = promtool('check', 'rules', ...nameRules());
    expect(status, said).to.equal(0);
    expect(said).not.to.match(/duplicate|FAILED/);
  });

  it('fire, and are silent, when their tests say', () => {
    const { status, said } = promtool('test', 'rules', ...nameRules('rules.test.yml'));
    expect(status, said).to.equal(0);
  });

  it('have each a test in which it fires, and one in which it does not', () => {
    type Case = { alertname: string; exp_alerts: unknown[] };
    const cases: Case[] = nameRules('rules.test.yml').flatMap((name) =>
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

  it('ask for metrics that exist, and so do the dashboards', () => {
    const documented = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
    const records = new Set(rules.map(({ record }) => record));
    const panels = readDashboards().flatMap((dashboard) => dashboard.panels);
    for (const { expr } of [...rules, ...panels.flatMap(({ targets }) => targets)]) {
      for (const [name] of expr.matchAll(/\bgateway[_:][\w:]+/g)) {
        if (records.has(name)) continue;
        expect(documented, expr).to.include(`\`${name.replace(/_(bucket|sum|count)$/, '')}\``);
      }
    }
  });

  it('and each panel of a dashboard says which question it answers', () => {
    for (const { title, panels } of readDashboards()) {
      for (const panel of panels) expect(panel.description, `${title}: ${panel.title}`).to.match(/\?/);
    }
  });
});
