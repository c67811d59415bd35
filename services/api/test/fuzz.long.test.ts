import { fuzzEveryEndpoint } from './support/fuzz-every-endpoint.js';

// Of each endpoint: some fifteen thousand in all.
fuzzEveryEndpoint('a great many random requests', 500);
