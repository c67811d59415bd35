import { fuzzEveryEndpoint } from './support/fuzz-every-endpoint.js';

fuzzEveryEndpoint('random requests', 300);
