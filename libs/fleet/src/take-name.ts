import type { ProcessHost } from '@gateway/runtime/process/process-host';
import type { Store } from '@gateway/store/core/store';
import { type Instance, takeInstance } from '@gateway/store/fleet/instances/instances';

/** The name under which a process starts again, the same for all of its roles, if it has one. Throws `instance_in_use`. */
export function takeName(
  host: ProcessHost<'subscriber'>,
  store: Store,
  { INSTANCE_NAME: name }: { INSTANCE_NAME?: string },
): Promise<Instance | undefined> {
  return host.share('instance', async () => {
    if (name === undefined) return undefined;
    const { processId, lifecycle, clients } = host;
    const { subscriber } = clients;
    const instance = await takeInstance({ store, subscriber, processId, onDisplaced: lifecycle.fail }, name);
    lifecycle.add('name of the instance', instance.leave);
    return instance;
  });
}
