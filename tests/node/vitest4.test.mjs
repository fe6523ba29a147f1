import { testFramework } from './scenarios.mjs';

testFramework('vitest 4');
