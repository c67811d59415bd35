import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join, relative } from 'node:path';
import { SETTINGS } from '@gateway/gateway/settings';
import { readConfig } from '@gateway/runtime/config/read-config';
import { ROOT } from '@gateway/scripts/paths';
import { provideKubectl } from '@gateway/scripts/tests/provide-kubectl';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { AssertionError, expect } from 'chai';
import { parse, stringify } from 'yaml';
import { findTypeErrors, type Manifest, render } from './support/manifests.js';
import {
  containersOf,
  expectLimitsAndProbes,
  expectNoGap,
  expectNoRights,
  find,
  OVERLAYS,
  ofKind,
} from './support/policies.js';

/** What no pod that talks to strangers may reach: metadata services, and networks of ours. */
const INSIDE = ['169.254.169.254', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '168.63.129.16', '127.0.0.1'];
const OURS = { matchLabels: { 'app.kubernetes.io/part-of': 'messenger-gateway' } };
const KEYS = { CREDENTIAL_KEYS: `k1:${'0a'.repeat(32)}`, CONTENT_KEYS: `k1:${'0b'.repeat(32)}` };

describe('k8s/', () => {
  const rendered = {} as Record<(typeof OVERLAYS)[number], Manifest[]>;
  let kubectl: string;
  before(async () => {
    kubectl = await provideKubectl();
    for (const overlay of OVERLAYS) rendered[overlay] = render(kubectl, `k8s/overlays/${overlay}`);
  });

  for (const overlay of OVERLAYS) {
    describe(`overlays/${overlay}`, () => {
      const pods = () => ofKind(rendered[overlay], 'Deployment');

      it('is what the API of Kubernetes takes, by its types', () => {
        expect(findTypeErrors(rendered[overlay])).to.deep.equal([]);
      });

      it('has pods without rights: no root, no privileges, nothing to write to, no token of the cluster', () => {
        expectNoRights(rendered[overlay]);
      });

      it('has limits and probes for each container, and images of one version', () => {
        expectLimitsAndProbes(rendered[overlay], overlay);
      });

      it('rolls without a gap, spreads its pods, and lets one of them go at a time', () => {
        expectNoGap(rendered[overlay]);
      });

      it('has services, autoscalers and ingresses that lead to something', () => {
        for (const { spec } of ofKind(rendered[overlay], 'Service')) {
          const targets = pods().filter(({ spec: { template } }) =>
            Object.entries(spec.selector).every(([label, value]) => template.metadata.labels[label] === value),
          );
          expect(targets).to.have.length(1);
          const ports = containersOf(targets[0]!).flatMap((container: Manifest['spec']) => container.ports);
          for (const { targetPort } of spec.ports)
            expect(ports.flatMap((port: Manifest['spec']) => [port.name, port.containerPort])).to.include(targetPort);
        }
        for (const kind of ['HorizontalPodAutoscaler', 'ScaledObject']) {
          for (const { spec } of ofKind(rendered[overlay], kind)) {
            const target = find(rendered[overlay], 'Deployment', spec.scaleTargetRef.name);
            expect(target.spec, 'it alone says how many').not.to.have.property('replicas');
          }
        }
        for (const { spec } of ofKind(rendered[overlay], 'Ingress')) {
          find(rendered[overlay], 'Service', spec.rules[0].http.paths[0].backend.service.name);
        }
      });

      it('gives each role settings with which it starts, and only such as exist', () => {
        const settings = find(rendered[overlay], 'ConfigMap', 'gateway').data as Record<string, string>;
        for (const role of ['api', 'connection', 'dashboard', 'events', 'sender'] as const) {
          const { env } = containersOf(find(rendered[overlay], 'Deployment', role))[0];
          const given: Record<string, string> = { ...settings };
          for (const { name, value, valueFrom } of env) {
            const setting = name.replace(/_FILE$/, '');
            // The second is for Node.
            const known = { ...SETTINGS[role].describe().keys, ROLES: 0, NODE_OPTIONS: 0 };
            expect(Object.keys(known), `${role} ${name}`).to.include(setting);
            if (setting in KEYS) given[setting] = KEYS[setting as keyof typeof KEYS];
            else if (setting === 'REDIS_URL') given[setting] = 'redis://redis:6379';
            else given[name] = value ?? valueFrom.fieldRef.fieldPath;
          }
          readConfig<object>(SETTINGS[role] as never, given);
          expect(readConfig(SETTINGS.process, given).ROLES).to.deep.equal([role]);
        }
      });

      it('lets nothing pass that is not listed, and no pod that talks to strangers into networks of ours', () => {
        const policies = ofKind(rendered[overlay], 'NetworkPolicy');
        const all = policies.find(({ metadata }) => metadata.name === 'default-deny')!;
        expect(all.spec).to.deep.equal({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
        for (const name of ['api', 'network', 'events']) {
          const [rule] = find(rendered[overlay], 'NetworkPolicy', name).spec.egress;
          // Webhooks have the ports that their URLs name, also when they are tested.
          expect(rule.ports, name).to.deep.equal(name === 'network' ? [{ port: 443 }] : undefined);
          const v4 = rule.to.find(({ ipBlock }: Manifest['spec']) => ipBlock.cidr === '0.0.0.0/0').ipBlock;
          const denied = new BlockList();
          for (const network of v4.except) denied.addSubnet(network.split('/')[0], Number(network.split('/')[1]));
          for (const address of INSIDE) expect(denied.check(address), address).to.equal(true);
          expect(denied.check('1.1.1.1')).to.equal(false);
        }
        const ops = policies.filter(({ spec }) => JSON.stringify(spec).includes('"ops"'));
        expect(ops.map(({ metadata }) => metadata.name)).to.deep.equal(['ops-for-monitoring']);
      });
    });
  }

  it('lets traces pass to a collector with components/tracing, and tells all of it; without it neither', () => {
    expect(JSON.stringify(rendered.production)).not.to.match(/OTEL_|4318/);
    const folder = mkdtempSync(join(ROOT, 'build/traced-'));
    try {
      const paths = { resources: ['../../k8s/overlays/production'], components: ['../../k8s/components/tracing'] };
      writeFileSync(join(folder, 'kustomization.yaml'), stringify(paths));
      const traced = render(kubectl, relative(ROOT, folder));
      expect(findTypeErrors(traced)).to.deep.equal([]);
      const { metadata, data } = find(traced, 'ConfigMap', 'gateway');
      const { OTEL_EXPORTER_OTLP_ENDPOINT: collector } = readConfig(SETTINGS.process, { ...KEYS, ...data });
      for (const pod of ofKind(traced, 'Deployment'))
        expect(containersOf(pod)[0].envFrom).to.deep.equal([{ configMapRef: { name: metadata.name } }]);
      const { podSelector, egress, policyTypes } = find(traced, 'NetworkPolicy', 'traces').spec;
      expect({ podSelector, policyTypes }).to.deep.equal({ podSelector: OURS, policyTypes: ['Egress'] });
      const { hostname, port } = new URL(collector!);
      const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': hostname.split('.')[1] } };
      expect(egress).to.deep.equal([{ to: [{ namespaceSelector }], ports: [{ port: Number(port) }] }]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('has no secret in overlays/production', () => {
    expect(ofKind(rendered.production, 'Secret')).to.deep.equal([]);
  });

  it('trusts the simulator of overlays/dev', async () => {
    const { env } = containersOf(find(rendered.dev, 'Deployment', 'simulator'))[0];
    const { value: seed } = env.find(({ name }: { name: string }) => name === 'SIMULATOR_SEED');
    const simulator = await startSimulator({ seed });
    await simulator.close();
    const { MESSENGER_TRUST } = find(rendered.dev, 'ConfigMap', 'gateway').data;
    expect(MESSENGER_TRUST).to.equal(`root:${simulator.rootPublicKeyHex}`);
  });

  it('gives the api files of secrets to none of its processes that read pictures', () => {
    const { spec } = find(rendered.production, 'Deployment', 'api').spec.template;
    expect(spec.volumes.map(({ name }: { name: string }) => name)).to.deep.equal(['tmp']);
  });

  it('keeps one sender more than the devices need, by a metric that exists', () => {
    const { triggers, advanced } = find(rendered.production, 'ScaledObject', 'sender').spec;
    const [{ metadata }] = triggers;
    const { env } = containersOf(find(rendered.production, 'Deployment', 'sender'))[0];
    const most = env.find(({ name }: { name: string }) => name === 'MAX_DEVICES').value;
    expect(metadata.threshold).to.equal(most);
    expect(metadata.query.endsWith(` + ${most}`)).to.equal(true);
    const metrics = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
    for (const [name] of metadata.query.matchAll(/gateway_\w+/g)) expect(metrics).to.include(`\`${name}\``);
    expect(advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds).to.equal(1_800);
  });

  it('has an autoscaler for each role whose work grows with its callers, by a share of what it asks for, and never fewer than two', () => {
    const autoscalers = ofKind(rendered.production, 'HorizontalPodAutoscaler');
    expect(autoscalers.map(({ metadata }) => metadata.name)).to.have.members(['api', 'events']);
    for (const { spec } of autoscalers) {
      expect(spec.minReplicas).to.equal(2);
      expect(spec.maxReplicas).to.be.above(2);
      const [{ resource }] = spec.metrics;
      const [container] = containersOf(find(rendered.production, 'Deployment', spec.scaleTargetRef.name));
      expect(container.resources.requests, 'of which the share is').to.have.property(resource.name);
    }
    for (const name of ['connection', 'dashboard'])
      expect(find(rendered.production, 'Deployment', name).spec.replicas).to.equal(2);
  });

  it('has the rules of deploy/', () => {
    const folder = join(ROOT, 'deploy');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /rules\.yml$/.test(name));
    const groups = files.sort().flatMap((name) => parse(readFileSync(join(folder, name), 'utf8')).groups);
    expect(groups).to.have.length.above(0);
    const metadata = { name: 'messenger-gateway' };
    const made = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata, spec: { groups } };
    const head = `# Made of all rules in deploy/ by scripts/test/kubernetes.long.test.ts.\n`;
    mkdirSync(join(ROOT, 'build'), { recursive: true });
    writeFileSync(join(ROOT, 'build/rules.yaml'), head + stringify(made, { lineWidth: 120 }));
    const { spec } = find(rendered.production, 'PrometheusRule', 'messenger-gateway');
    expect(spec, 'copy build/rules.yaml, which was just made, to k8s/components/monitoring').to.deep.equal({ groups });
  });

  describe('the policies', () => {
    type Plant = [what: string, plant: (pod: Manifest['spec'], container: Manifest['spec']) => void];
    const plants: [policy: (manifests: readonly Manifest[]) => void, Plant[]][] = [
      [
        expectNoRights,
        [
          ['root', ({ securityContext }) => Object.assign(securityContext, { runAsNonRoot: false })],
          ['the number of root', ({ securityContext }) => Object.assign(securityContext, { runAsUser: 0 })],
          ['a token of the cluster', (pod) => Object.assign(pod, { automountServiceAccountToken: true })],
          [
            'privileges',
            (_, { securityContext }) => Object.assign(securityContext, { allowPrivilegeEscalation: true }),
          ],
          ['a root to write to', (_, { securityContext }) => delete securityContext.readOnlyRootFilesystem],
          ['capabilities', (_, { securityContext }) => Object.assign(securityContext, { capabilities: { drop: [] } })],
        ],
      ],
      [
        (manifests) => expectLimitsAndProbes(manifests, 'production'),
        [
          ['an image by its tag', (_, container) => Object.assign(container, { image: 'messenger-gateway:1.2.3' })],
          ['no limit of memory', (_, { resources }) => delete resources.limits.memory],
          ['no request of CPU', (_, { resources }) => delete resources.requests.cpu],
          ['no probe of its start', (_, container) => delete container.startupProbe],
          ['no probe of its readiness', (_, container) => delete container.readinessProbe],
        ],
      ],
      [
        expectNoGap,
        [
          [
            'a probe that gives up early',
            (_, container) => Object.assign(container.livenessProbe, { timeoutSeconds: 1 }),
          ],
          ['pods on one node', (pod) => pod.topologySpreadConstraints.pop()],
        ],
      ],
    ];
    for (const [policy, each] of plants) {
      for (const [what, plant] of each) {
        it(`find ${what}`, () => {
          const planted = structuredClone(rendered.production);
          const pod = find(planted, 'Deployment', 'sender').spec.template.spec;
          plant(pod, pod.containers[0]);
          expect(() => policy(planted)).to.throw(AssertionError);
        });
      }
    }

    it('find the latest version of an image, whatever that is, in overlays/dev', () => {
      const planted = structuredClone(rendered.dev);
      containersOf(find(planted, 'Deployment', 'sender'))[0].image = 'messenger-gateway:latest';
      expect(() => expectLimitsAndProbes(planted, 'dev')).to.throw(AssertionError);
    });

    it('find a budget that lets two pods go, or none of those that hang, and a roll-out with a gap', () => {
      const wrong: [kind: string, plant: (spec: Manifest['spec']) => void][] = [
        ['PodDisruptionBudget', (spec) => Object.assign(spec, { maxUnavailable: 2 })],
        ['PodDisruptionBudget', (spec) => delete spec.unhealthyPodEvictionPolicy],
        ['Deployment', (spec) => Object.assign(spec.strategy.rollingUpdate, { maxUnavailable: 1 })],
        ['Deployment', (spec) => Object.assign(spec.template.spec, { terminationGracePeriodSeconds: 30 })],
      ];
      for (const [kind, plant] of wrong) {
        const planted = structuredClone(rendered.production);
        plant(find(planted, kind, 'sender').spec);
        expect(() => expectNoGap(planted), String(plant)).to.throw(AssertionError);
      }
    });
  });

  describe('the check by types', () => {
    const plants: [what: string, kind: string, plant: (spec: Manifest['spec']) => void, complaint: string][] = [
      ['an unknown field', 'Deployment', (spec) => Object.assign(spec, { replica: 2 }), '\'"replica"\' does not exist'],
      [
        'one deep inside',
        'Deployment',
        (spec) => Object.assign(spec.template.spec.containers[0], { resource: {} }),
        '\'"resource"\' does not exist',
      ],
      [
        'a wrong type',
        'Deployment',
        (spec) => Object.assign(spec, { minReadySeconds: '10' }),
        "'string' is not assignable",
      ],
      ['a field that is missing', 'Ingress', (spec) => delete spec.rules[0].http.paths[0].pathType, 'pathType'],
      [
        'a wrong type of KEDA',
        'ScaledObject',
        (spec) => Object.assign(spec, { minReplicaCount: '2' }),
        "'string' is not assignable",
      ],
      [
        'an unknown field of Prometheus Operator',
        'PodMonitor',
        (spec) => Object.assign(spec, { podMetricEndpoints: [] }),
        '\'"podMetricEndpoints"\' does not exist',
      ],
    ];
    for (const [what, kind, plant, complaint] of plants) {
      it(`finds ${what}`, () => {
        const planted = structuredClone(ofKind(rendered.production, kind).slice(0, 1));
        plant(planted[0]!.spec);
        const errors = findTypeErrors(planted);
        expect(errors).to.have.length(1);
        expect(errors[0]).to.include(complaint);
      });
    }
  });
});
