import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { parseAllDocuments } from 'yaml';

/** One object of Kubernetes. Its form is checked by `findTypeErrors`. */
// biome-ignore lint/suspicious/noExplicitAny: policies look into objects of every kind.
export type Manifest = { apiVersion: string; kind: string; metadata: any; spec: any; data?: any };

/** Where the types of each API are: made from the schemas that its servers use. */
const TYPES: Record<string, string> = {
  'keda.sh/v1alpha1': '@kubernetes-models/keda/keda.sh/v1alpha1',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};

/** As `kubectl apply -k` would apply it. */
export function render(kubectl: string, folder: string): Manifest[] {
  const text = execFileSync(kubectl, ['kustomize', join(ROOT, folder)], { encoding: 'utf8' });
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** What the compiler says of objects that are given to their types as literals: unknown fields, missing ones, wrong types. */
export function findTypeErrors(manifests: readonly Manifest[]): string[] {
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  // Inside the repository, or the compiler would not find the types.
  const folder = mkdtempSync(join(ROOT, 'build/manifests-'));
  try {
    const lines = manifests.map((manifest, index) => {
      const { apiVersion, kind } = manifest;
      const module = TYPES[apiVersion] ?? `kubernetes-models/${apiVersion}`;
      return `export const m${index}: import('${module}').I${kind} = ${JSON.stringify(manifest, undefined, 1)};`;
    });
    const file = join(folder, 'manifests.ts');
    writeFileSync(file, lines.join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig', '--module', 'nodenext', '--types', ''];
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, file], {
      encoding: 'utf8',
    });
    return stdout.split('\n').filter((line) => /error TS/.test(line));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
