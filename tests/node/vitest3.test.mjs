import { testFramework } from './scenarios.mjs';

testFramework('vitest 3', { all: false });
