import { describeChaos } from './support/describe-chaos.js';

describeChaos('cluster');
