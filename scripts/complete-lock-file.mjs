// npm leaves optional packages for other platforms out of the lock file when its registry does not have them, and then
// refuses the very same file (`npm ci`: "Missing ... from lock file"). This writes their entries, with the platform that
// their names tell, so that one lock file serves every machine. Safe to repeat. A test says when it is needed.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('../package-lock.json', import.meta.url));
const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = ['arm64', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64', 'arm'];

const lock = JSON.parse(readFileSync(FILE, 'utf8'));
for (const { name, version, needs } of missingPackages(lock.packages)) {
  lock.packages[`node_modules/${name}`] = describe(name, version, needs);
  console.log(`added ${name}@${version}`);
}
const sorted = Object.entries(lock.packages).sort(([one], [other]) => one.localeCompare(other, 'en'));
writeFileSync(FILE, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);

function missingPackages(packages) {
  return Object.values(packages).flatMap((needs) =>
    Object.entries(needs.optionalDependencies ?? {})
      .filter(([name]) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`)))
      .map(([name, version]) => ({ name, version, needs })),
  );
}

function describe(name, version, needs) {
  const words = name.split('/').at(-1);
  const os = SYSTEMS.filter((system) => words.includes(system));
  const cpu = PROCESSORS.filter((processor) => words.includes(processor)).slice(0, 1);
  const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : [];
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    ...(needs.dev && { dev: true }),
    ...(libc.length > 0 && { libc }),
    ...(needs.license && { license: needs.license }),
    optional: true,
    ...(os.length > 0 && { os }),
  };
}
