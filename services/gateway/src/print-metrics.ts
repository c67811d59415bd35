import { describeMetrics, METRIC_GROUPS } from './metrics-document.js';

process.stdout.write(describeMetrics(METRIC_GROUPS));
