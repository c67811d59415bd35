import { fuzzEveryEndpoint } from './support/fuzz-every-endpoint.js';

fuzzEveryEndpoint('a great many random requests', 5_000);
