import { operation } from '../http/operation.js';
import { readOverview } from '../views/overview.js';

export const showOverview = operation({
  method: 'get',
  path: '/overview',
  for: 'viewer',
  handle: async (_call, { store, workspace, clock }) => ({
    body: { overview: await readOverview(store, workspace, clock.nowMs()) },
  }),
});
