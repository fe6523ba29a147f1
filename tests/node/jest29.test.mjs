import { testFramework } from './scenarios.mjs';

testFramework('jest 29', { all: false });
