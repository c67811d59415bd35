import { GatewayError } from '@gateway/runtime/errors';

/**
 * Another version of the gateway has written a record, in a layout that this process does not know (yet). It has changed
 * nothing: in a rolling upgrade the other processes know it.
 */
export class UnknownVersionError extends GatewayError {
  /** @param fields.version of the record, as it is written there. */
  constructor(fields: { version: string | undefined; step?: string }) {
    const message = `record of unknown version ${fields.version}: another version of the gateway has written it`;
    super({ code: 'unknown_version', message, fields });
  }
}

/** Whether a change was made: not, when its record is one of another version, which is left to that. */
export async function isMade(change: Promise<unknown>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (thrown) {
    if (thrown instanceof UnknownVersionError) return false;
    throw thrown;
  }
}
