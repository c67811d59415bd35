import { runUntilSignal } from '@gateway/runtime/lifecycle';
import { runApi } from './run-api.js';

await runUntilSignal(runApi);
