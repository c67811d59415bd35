import { testLifecycle } from './test-lifecycle.js';

testLifecycle('first half');
