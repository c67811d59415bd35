import type { Logger } from '@gateway/runtime/logs/logger';

const ignore = () => {};

/** For tests that are not about the log. */
export const silentLogger: Logger = {
  ...{ debug: ignore, info: ignore, warn: ignore, error: ignore },
  child: () => silentLogger,
};
