import { runUntilSignal } from '@gateway/runtime/lifecycle';
import { readSenderConfig } from './config.js';
import { runSender } from './run-sender.js';

await runUntilSignal(async (lifecycle) => {
  await runSender(readSenderConfig(), lifecycle);
});
