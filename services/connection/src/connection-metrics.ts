import { addMetrics, gauge, type Registry } from '@gateway/runtime/process/metrics';

/** What the connection service tells Prometheus. */
export const CONNECTION_METRICS = {
  tasks: gauge('gateway_connection_tasks', {
    help: 'Devices that are being linked or logged out.',
    question: 'Do people link devices, and does a log-out hang?',
  }),
} as const;

/** @param countTasks how many devices are being linked or logged out. */
export function addConnectionMetrics(registry: Registry, countTasks: () => number): void {
  addMetrics(registry, CONNECTION_METRICS, { tasks: (tasks) => tasks.set(countTasks()) });
}
