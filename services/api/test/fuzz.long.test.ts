import { fuzzEveryEndpoint } from './support/fuzz-every-endpoint.js';

// Of each endpoint: fifty thousand in all, which take two minutes.
fuzzEveryEndpoint('a great many random requests', 1_500);
