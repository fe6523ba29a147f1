import { testFramework } from './scenarios.mjs';

testFramework('jest 30');
