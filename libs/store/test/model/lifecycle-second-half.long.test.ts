import { testLifecycle } from './test-lifecycle.js';

testLifecycle('second half');
