// As CommonJS.

import loomrec = require('@loomrec/cli');
import jest = require('@loomrec/cli/jest');

export const started: Promise<loomrec.LoomrecServer> = loomrec.startServer({ recording: 'recordings/{session}.json' });
export const handle = jest.useLoomrec();
