import type { CallRecord, FaultOptions, RuleOptions } from './index.js';

export type TestMode = 'replay' | 'review' | 'record' | 'new' | 'off';

/** Options of a run of tests. */
export interface LoomrecOptions extends RuleOptions {
  /** How tests are run; default `replay`. The variable LOOMREC_TESTS takes precedence. */
  mode?: TestMode;
  /** Test files that use loomrec although they do not mention it: patterns of paths in the project. */
  auto?: string | string[];
  /** The name of the folder beside the tests in which recordings are; default `recordings`. */
  recordings?: string;
  /** The address of each upstream, or one address for calls that name no upstream. */
  upstream?: string | Record<string, string>;
  /** More flags of `loomrec record` and `loomrec replay`. */
  args?: string[];
  /** Whether a test fails that does not use all of its recording; default false. */
  failUnused?: boolean;
}

/** Options of the tests of a file or a describe block. */
export interface UseLoomrecOptions extends RuleOptions, FaultOptions {
  /** Whether a test fails that does not use all of its recording. */
  failUnused?: boolean;
}

/** What loomrec knows about the test that runs. */
export interface LoomrecHandle {
  readonly mode: TestMode;
  /** The base URL of this worker, for clients that read no variable; undefined if loomrec is off. */
  readonly url: string | undefined;
  /** The file of this test's recording, relative to the project; undefined if loomrec is off. */
  readonly recording: string | undefined;
  /** Returns the calls of this test that have ended. */
  calls(): Promise<CallRecord[]>;
  /** Returns the tokens of this test so far. */
  usage(): Promise<{ input: number; output: number }>;
  /** Returns the cost of this test so far in US dollars; null if it is not known. */
  cost(): Promise<number | null>;
  /** Names a value that differs in each run, such as a temporary folder. Call it before the test's first call. */
  var(name: string, value: string): Promise<void>;
}

/** Makes the tests of the file or describe block in which it is called use loomrec with these options. */
export function useLoomrec(options?: UseLoomrecOptions): LoomrecHandle;
