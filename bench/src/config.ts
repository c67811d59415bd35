/** `BENCH_CPU_PROFILES=folder` has every service of the gateway write a CPU profile there when it ends. */
export function profileSettings(): Record<string, string> {
  const folder = process.env.BENCH_CPU_PROFILES;
  return folder ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` } : {};
}
