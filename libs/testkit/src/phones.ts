import type { Simulator } from '@gateway/simulator/start-simulator';

/** A message as a simulated phone shows it; times are Unix ms. */
export interface ShownMessage {
  id: string;
  to: string;
  text: string | null;
  /** How often it was put before a person. */
  shown: number;
  /** How often it came over the wire. */
  arrivals: number;
  deliveredAt: number | null;
  readAt: number | null;
}

/** Everything that phones received from an account, read from the simulator's control API. */
export async function readDeliveries(simulator: Simulator, from: string): Promise<ShownMessage[]> {
  const response = await fetch(`${simulator.adminUrl}/admin/deliveries?from=${from}`);
  const body = (await response.json()) as ShownMessage[] | { deliveries: ShownMessage[] };
  return Array.isArray(body) ? body : body.deliveries;
}

/** `count` numbers of people who exist on the simulator; the same ones for the same `series`. */
export function makeNumbers(count: number, series = 0): string[] {
  return Array.from({ length: count }, (_, i) => String(4_915_000_000_000 + series * 1_000_000 + i));
}
