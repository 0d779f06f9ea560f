import { describeHost } from './host-contract.ts';
import { makeProcessBench } from './process-bench.ts';

describeHost('process', makeProcessBench);
