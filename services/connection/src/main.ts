import { runUntilSignal } from '@gateway/runtime/process/lifecycle';
import { readConnectionConfig } from './config.js';
import { runConnection } from './run-connection.js';

await runUntilSignal(async (lifecycle) => {
  await runConnection(readConnectionConfig(), lifecycle);
});
