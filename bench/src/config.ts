/** `BENCH_CPU_PROFILES=folder` has every service of the gateway write a CPU profile there when it ends. */
export function profileSettings(): Record<string, string> {
  const folder = process.env.BENCH_CPU_PROFILES;
  const module = new URL('support/write-cpu-profile.js', import.meta.url).href;
  return folder ? { NODE_OPTIONS: `--import=${module}`, BENCH_CPU_PROFILES: folder } : {};
}

/** What this process is, for the name of its profile: the roles of a process of the gateway. */
export function profiledProcess(): string {
  return process.env.ROLES ?? 'node';
}

/** Where this process shall write its own. */
export function profileFolder(): string {
  return process.env.BENCH_CPU_PROFILES ?? '.';
}
