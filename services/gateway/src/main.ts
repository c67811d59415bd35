import { runUntilSignal } from '@gateway/runtime/process/lifecycle';
import { runRoles } from './run-roles.js';

await runUntilSignal(runRoles);
