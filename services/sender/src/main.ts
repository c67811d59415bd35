import { runUntilSignal } from '@gateway/runtime/process/lifecycle';
import { readSenderConfig } from './config.js';
import { runSender } from './run-sender.js';

await runUntilSignal(async (lifecycle) => {
  await runSender(readSenderConfig(), lifecycle);
});
