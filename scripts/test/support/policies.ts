import { expect } from 'chai';
import type { Manifest } from './manifests.js';

export const OVERLAYS = ['dev', 'production'] as const;
const ROLES = ['api', 'connection', 'dashboard', 'events', 'sender'];

export const ofKind = (manifests: readonly Manifest[], kind: string) => manifests.filter((each) => each.kind === kind);

/** Its name may end with the hash of what it holds. */
export function find(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = ofKind(manifests, kind).find(({ metadata }) => metadata.name.replace(/-[a-z0-9]{10}$/, '') === name);
  if (!found) throw new Error(`no ${kind} ${name}`);
  return found;
}

export const containersOf = (deployment: Manifest) => deployment.spec.template.spec.containers;

/** No root, no privileges, nothing to write to, no token of the cluster. */
export function expectNoRights(manifests: readonly Manifest[]): void {
  for (const { metadata, spec } of ofKind(manifests, 'Deployment')) {
    const pod = spec.template.spec;
    expect(pod, metadata.name).to.include({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(pod.securityContext.runAsNonRoot).to.equal(true);
    expect(pod.securityContext.runAsUser).to.be.above(0);
    expect(pod.securityContext.seccompProfile).to.deep.equal({ type: 'RuntimeDefault' });
    for (const { securityContext } of pod.containers) {
      expect(securityContext).to.deep.include({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
      expect(securityContext.capabilities).to.deep.equal({ drop: ['ALL'] });
    }
  }
  const { labels } = find(manifests, 'Namespace', 'messenger-gateway').metadata;
  expect(labels['pod-security.kubernetes.io/enforce']).to.equal('restricted');
}

/** Each container has them, and an image of one version. */
export function expectLimitsAndProbes(manifests: readonly Manifest[], overlay: (typeof OVERLAYS)[number]): void {
  const image = overlay === 'production' ? /@sha256:[0-9a-f]{64}$/ : /:(?!latest)[\w.-]+$/;
  for (const container of ofKind(manifests, 'Deployment').flatMap(containersOf)) {
    expect(container.image).to.match(image);
    expect(container.resources.requests).to.have.all.keys('cpu', 'memory', 'ephemeral-storage');
    expect(container.resources.limits).to.have.all.keys('memory', 'ephemeral-storage');
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) expect(container).to.have.property(probe);
  }
}

/** Roll-outs leave none, pods are spread, and one of them goes at a time. */
export function expectNoGap(manifests: readonly Manifest[]): void {
  for (const name of ROLES) {
    const { spec } = find(manifests, 'Deployment', name);
    expect(spec.strategy.rollingUpdate).to.deep.equal({ maxSurge: 1, maxUnavailable: 0 });
    expect(spec.minReadySeconds).to.be.above(0);
    expect(spec.template.spec.topologySpreadConstraints).to.have.length(2);
    // Above the 2 s that a check of /readyz may take.
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(spec.template.spec.containers[0][probe].timeoutSeconds, probe).to.be.above(2);
    const budget = find(manifests, 'PodDisruptionBudget', name).spec;
    expect(budget).to.include({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    expect(budget.selector).to.deep.equal(spec.selector);
  }
  const { template } = find(manifests, 'Deployment', 'sender').spec;
  expect(template.spec.terminationGracePeriodSeconds).to.be.at.least(90);
}
