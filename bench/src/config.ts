import { basename } from 'node:path';

/** `BENCH_CPU_PROFILES=folder` has every service and every baseline write a CPU profile there when it ends. */
export function profileSettings(): Record<string, string> {
  const folder = process.env.BENCH_CPU_PROFILES;
  const module = new URL('support/write-cpu-profile.js', import.meta.url).href;
  return folder ? { NODE_OPTIONS: `--import=${module}`, BENCH_CPU_PROFILES: folder } : {};
}

/** What this process is, for the name of its profile: the roles of a process of the gateway, or its script. */
export function profiledProcess(): string {
  return process.env.ROLES ?? basename(process.argv[1] ?? 'node', '.js');
}

/** Where this process shall write its own. */
export function profileFolder(): string {
  return process.env.BENCH_CPU_PROFILES ?? '.';
}

/** `BENCH_DEVICES` on `BENCH_SENDERS` in place of the whole fleet, to see quickly where it stands. */
export function fleetSize(whole: { devices: number; senders: number }): { devices: number; senders: number } {
  const { BENCH_DEVICES, BENCH_SENDERS } = process.env;
  return { devices: Number(BENCH_DEVICES ?? whole.devices), senders: Number(BENCH_SENDERS ?? whole.senders) };
}

/** Of a process of the benchmark itself. */
export function childEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, ...profileSettings() };
}
