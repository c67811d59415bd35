import { GatewayError } from '@gateway/runtime/errors';

/** `--link-delay-ms 20` as the variable that the simulator reads: `SIMULATOR_LINK_DELAY_MS=20`. */
export function simulatorFlags(args: string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (let at = 0; at < args.length; at += 2) {
    const [flag = '', value] = [args[at], args[at + 1]];
    if (!/^--[a-z-]+$/.test(flag) || value === undefined) {
      throw new GatewayError({ code: 'usage', message: `Flags are --name value, such as --port 9000; not ${flag}` });
    }
    env[`SIMULATOR_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`] = value;
  }
  return env;
}
