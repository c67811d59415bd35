import { runUntilSignal } from '@gateway/runtime/process/lifecycle';
import { runApi } from './run-api.js';

await runUntilSignal(runApi);
