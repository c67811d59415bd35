import type { RunScript } from '@gateway/store/core/scripts/define-script';
import type { Store } from '@gateway/store/core/store';

/** Each of its steps comes twice, and the second answer counts: so a client asks again by itself that has lost the first one. */
export function askingTwice(store: Store): Store {
  const run: RunScript = async (...step) => {
    await store.run(...step);
    return store.run(...step);
  };
  return { ...store, run };
}
