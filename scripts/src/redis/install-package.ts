import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface Package {
  /** Its name with apt, and with brew where that has it. */
  apt: string;
  brew?: string;
  /** The service that Debian starts on installation. */
  service?: string;
}

/** True when a package manager was there, we may use it, and it did its work. */
export async function installPackage(wanted: Package): Promise<boolean> {
  if ((await outputOf('apt-get', ['--version'])) !== undefined) return installWithApt(wanted);
  if (!wanted.brew || (await outputOf('brew', ['--version'])) === undefined) return false;
  return installWithBrew(wanted.brew);
}

/** What a program prints, or `undefined` when it is not there or fails. */
export async function outputOf(program: string, args: string[]): Promise<string | undefined> {
  try {
    return (await execute(program, args)).stdout;
  } catch {
    return undefined;
  }
}

async function installWithApt({ apt: name, service }: Package): Promise<boolean> {
  const rights = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  if (rights.length > 0 && (await outputOf('sudo', ['-n', 'true'])) === undefined) return false;
  console.error(`Installing ${name} with apt ...`);
  // Another program may be installing something at this moment.
  const patience = ['-o', 'DPkg::Lock::Timeout=120'];
  const apt = [...rights, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...patience];
  // A stale index does not matter if it has the package.
  await outputOf(...split([...apt, 'update']));
  const installed = await outputOf(...split([...apt, 'install', '-y', '--no-install-recommends', name]));
  if (service) await stopService(rights, service);
  return installed !== undefined;
}

async function stopService(rights: string[], service: string): Promise<void> {
  await outputOf(...split([...rights, 'systemctl', 'disable', '--now', service]));
  await outputOf(...split([...rights, 'service', service, 'stop']));
}

async function installWithBrew(name: string): Promise<boolean> {
  console.error(`Installing ${name} with brew ...`);
  return (await outputOf('brew', ['install', '--quiet', name])) !== undefined;
}

function split([program = '', ...args]: string[]): [string, string[]] {
  return [program, args];
}
