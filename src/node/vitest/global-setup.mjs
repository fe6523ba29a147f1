// Runs once before vitest's workers start; what it returns runs after them.

import runs from '../lib/run.js';

export default async function setup(project) {
  const { root, provide } = project.config;
  const { run, stop } = await runs.startRun({ root, options: provide.loomrecOptions, where: 'loomrec() in vitest.config' });
  project.provide('loomrec', run);
  return stop;
}
