import { isIP } from 'node:net';

/**
 * The address that a request came from.
 * @param req.ip what the nearest trusted proxy wrote down: some add the port (`192.0.2.7:443`, `[2001:db8::1]:443`). What is no
 * address is not believed; then it is that of the proxy.
 */
export function callerAddress({
  ip = '',
  socket,
}: {
  ip?: string | undefined;
  socket: { remoteAddress?: string | undefined };
}): string {
  const [, ipv6, ipv4] = /^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/.exec(ip) ?? [];
  const address = ipv6 ?? ipv4 ?? ip;
  return isIP(address) ? address : (socket.remoteAddress ?? '');
}
