import type { Simulator } from '@gateway/simulator/start-simulator';

/** A message as a simulated phone shows it; times are Unix ms. */
export interface ShownMessage {
  id: string;
  to: string;
  /** `text`, `image`, ... */
  type?: string;
  text: string | null;
  /** Of files: what the message says of them, and whether they are intact. */
  details?: Record<string, unknown>;
  /** How often it was put before a person. */
  shown: number;
  /** How often it came over the wire. */
  arrivals: number;
  deliveredAt: number | null;
  readAt: number | null;
}

/** Everything that phones received from an account, read from the simulator's control API. */
export async function readDeliveries({ adminUrl }: Pick<Simulator, 'adminUrl'>, from: string): Promise<ShownMessage[]> {
  const response = await fetch(`${adminUrl}/admin/deliveries?from=${from}`);
  const body = (await response.json()) as ShownMessage[] | { deliveries: ShownMessage[] };
  return Array.isArray(body) ? body : body.deliveries;
}

/** The file of a message, as the phone that got it downloaded and decrypted it. */
export async function readFileOnPhone(simulator: Simulator, { to, id }: ShownMessage): Promise<Buffer> {
  const response = await fetch(`${simulator.adminUrl}/admin/phones/${to}/messages/${id}/media`);
  if (!response.ok) throw new Error(`no file on the phone: ${await response.text()}`);
  return Buffer.from(await response.arrayBuffer());
}

/** `count` numbers of people who exist on the simulator; the same ones for the same `series`. */
export function makeNumbers(count: number, series = 0): string[] {
  return Array.from({ length: count }, (_, i) => String(4_915_000_000_000 + series * 1_000_000 + i));
}
