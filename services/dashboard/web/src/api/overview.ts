import type { Overview } from '@gateway/contracts/console/overview';
import { request } from './request.js';
import { useLive } from './use-live.js';

export function useOverview() {
  return useLive('overview', async () => (await request<{ overview: Overview }>('/overview')).overview);
}
