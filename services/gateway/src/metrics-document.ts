import { API_METRICS } from '@gateway/api/api-metrics';
import { HEADROOM_METRICS } from '@gateway/api/sends/headroom-metrics';
import { CONNECTION_METRICS } from '@gateway/connection/connection-metrics';
import { DASHBOARD_METRICS } from '@gateway/dashboard/dashboard-metrics';
import { EVENTS_METRICS } from '@gateway/events/events-metrics';
import {
  combinationsOf,
  LABEL_MEANINGS,
  type LabelName,
  type MetricSpec,
  type MetricSpecs,
} from '@gateway/runtime/process/metrics';
import { PROCESS_METRICS } from '@gateway/runtime/process/process-metrics';
import { INSTALLATION_METRICS, OWNER_METRICS, SENDER_METRICS } from '@gateway/sender/sender-metrics';

/** All metrics of ours, by who exports them. */
export const METRIC_GROUPS: Readonly<Record<string, MetricSpecs>> = {
  'Of the installation': { ...INSTALLATION_METRICS, ...HEADROOM_METRICS },
  'Of each process': PROCESS_METRICS,
  'Of the api': API_METRICS,
  'Of the sender': SENDER_METRICS,
  'Of the sender and the connection service (doorbells: also of the api)': OWNER_METRICS,
  'Of the connection service': CONNECTION_METRICS,
  'Of the events service': EVENTS_METRICS,
  'Of the console': DASHBOARD_METRICS,
};

const HEAD = `# Metrics

<!-- Made by \`npm run metrics\` of the registry of each service. -->

Each process serves \`/metrics\` on \`OPS_PORT\`. Each metric is here to answer a question. What is *of the installation* is read from
Redis and the same from every process that exports it: take the \`max\`. All others are of one process: \`sum\` them, after \`rate\` or
\`increase\`. All values of a label that are known before are there as 0 from the first scrape; no device, phone number, token or
workspace is ever a label. \`series\` counts those of one process (\`+\`: they come with what happens). Beside these there are the usual \`process_*\` and \`nodejs_*\` of Node.js, of which
\`nodejs_eventloop_lag_p99_seconds\` tells whether a process is too busy.
`;

/** docs/metrics.md. */
export function describeMetrics(metricGroups: typeof METRIC_GROUPS): string {
  const groups = Object.entries(metricGroups).map(([title, specs]) => describeGroup(title, Object.values(specs)));
  return `${[HEAD, ...groups, describeLabels(metricGroups)].join('\n')}`;
}

function describeGroup(title: string, specs: readonly MetricSpec[]): string {
  const rows = specs.map((spec) => {
    const { name, type, labels = {}, help, question } = spec;
    const names = Object.keys(labels).map((label) => `\`${label}\``);
    return `| \`${name}\` | ${type} | ${names.join(', ')} | ${countSeries(spec)} | ${help} | ${question} |`;
  });
  return `## ${title}\n\n| metric | type | labels | series | what it is | which question it answers |\n|---|---|---|---|---|---|\n${rows.join('\n')}\n`;
}

/** Of one process, before anything has happened; `+`: more come with the values of open labels. */
function countSeries(spec: MetricSpec): string {
  const perCombination = spec.type === 'histogram' ? (spec.buckets?.length ?? 0) + 3 : 1;
  const isOpen = Object.values(spec.labels ?? {}).includes('open');
  return isOpen ? '+' : String(combinationsOf(spec).length * perCombination);
}

function describeLabels(groups: typeof METRIC_GROUPS): string {
  const specs = Object.values(groups).flatMap((group) => Object.values(group));
  const rows = Object.entries(LABEL_MEANINGS).map(([label, meaning]) => {
    const values = valuesOf(specs, label as LabelName).map((value) => `\`${value}\``);
    return `| \`${label}\` | ${meaning} | ${values.length > 0 ? values.join(', ') : 'not known before'} |`;
  });
  return `## Labels\n\n| label | meaning | values |\n|---|---|---|\n${rows.join('\n')}\n`;
}

/** At all metrics that have it. */
function valuesOf(specs: readonly MetricSpec[], label: LabelName): string[] {
  // A label may be open, and have a value of that name.
  const values = specs.flatMap(({ labels = {} }) => (labels[label] === 'open' ? [] : (labels[label] ?? [])));
  return [...new Set(values)];
}
