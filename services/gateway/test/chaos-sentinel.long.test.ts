import { describeChaos } from './support/describe-chaos.js';

describeChaos('sentinel');
