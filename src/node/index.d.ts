/** Values of `docs/journal.md`: one call, as a line of the journal. */
export interface CallRecord {
  outcome: string;
  status: number | null;
  method: string;
  path: string;
  upstream: string | null;
  provider: string | null;
  model: string | null;
  session: string | null;
  step_id: string | null;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  attempt: number | null;
  [field: string]: unknown;
}

/** The receipt of a session or a run: `docs/receipt.md` lists its fields. */
export interface Receipt {
  verdict: 'ok' | 'command failed' | 'failed' | 'not tested';
  complaints: string[];
  served: number;
  recorded: number;
  missed: number;
  mismatches: Array<Record<string, unknown>>;
  unused: number;
  unused_entries: string[];
  upstream_connections: number;
  tokens: { input: number; output: number };
  cost_usd: number | null;
  [field: string]: unknown;
}

export type SessionMode = 'replay' | 'record' | 'new';

/** Rules of a session, in the words of the command's flags. */
export interface RuleOptions {
  /** Places in request bodies to ignore, as JSON pointers. */
  ignore?: string | string[];
  /** Request headers to ignore. */
  ignoreHeaders?: string | string[];
  /**
   * Ids, times and values that the program makes anew in each run, in text that it writes itself:
   * `'/metadata/id: uuid'`, `'system: Today is {{day}}.'`.
   */
  normalize?: string | string[];
  /** Values that differ in each run, such as a temporary folder. */
  vars?: Record<string, string>;
}

/** Faults of a session. */
export interface FaultOptions {
  /** Faults as text: `'http_error:429;times=1'`. */
  fault?: string | string[];
  /** A fault plan. */
  faults?: Record<string, unknown>;
  /** The seed for random decisions. */
  seed?: number;
  /** A budget: `'max_recovery_ms=5000'`. */
  recovery?: string;
}

export interface SessionOptions extends RuleOptions, FaultOptions {
  /** The prefix in the paths of the calls. */
  prefix: string;
  /** The name of the session; the prefix without it. */
  name?: string;
  /** The file of the recording, relative to the folder of the server's template. */
  recording?: string;
  /** Without it, as the server's command is. */
  mode?: SessionMode;
}

export interface SessionDescription {
  prefix: string;
  name: string;
  recording: string;
  mode: SessionMode;
  /** The base URL for the prefix. */
  url: string;
  /** Whether the recording was there when the session began. */
  exists: boolean;
}

export interface SessionResult {
  session: SessionDescription;
  /** Whether the recording was written; only at the end of a session. */
  kept?: boolean;
  receipt: Receipt;
  /** The receipt as people read it. */
  summary: string;
  calls: CallRecord[];
  served: number;
  recorded: number;
  missed: number;
  unused: number;
  usage: { input: number; output: number };
  /** In US dollars: spent if recorded, saved if replayed. Null if a price is not known. */
  cost: number | null;
}

/** A session that was begun with `begin`. */
export class Session {
  private constructor();
  readonly prefix: string;
  readonly name: string;
  readonly recording: string;
  readonly mode: SessionMode;
  readonly url: string;
  readonly exists: boolean;
  /** Returns the session's receipt, calls, usage and cost at this moment. */
  show(): Promise<SessionResult>;
  /** Adds values of the run. The session must not have had a call yet. */
  addVars(vars: Record<string, string>): Promise<void>;
  /** Ends the session. With `keep: false`, what it recorded is discarded. */
  end(options?: { keep?: boolean }): Promise<SessionResult>;
}

/** A loomrec server that is already running, at `url`. */
export class LoomrecClient {
  constructor(url: string);
  readonly url: string;
  /** Returns the variables that point SDKs at this server, with a prefix or without. */
  environment(prefix?: string): Promise<Record<string, string>>;
  /** Begins a session. */
  begin(options: SessionOptions): Promise<Session>;
  /** Returns the open sessions. */
  sessions(): Promise<{
    version: number;
    open: Array<{ prefix: string; name: string; recording: string; mode: SessionMode; idle_ms: number }>;
    ended: number;
    limit: number;
  }>;
  /** Ends the session of a prefix, also one that another client began. */
  endSession(prefix: string, options?: { keep?: boolean }): Promise<SessionResult>;
}

export interface ServerOptions {
  /** Default `replay`. */
  command?: 'record' | 'replay';
  /** A file, or a template with `{session}`. */
  recording?: string;
  /** More flags of the command. */
  args?: string[];
  /** The working directory; default: that of this process. */
  cwd?: string;
  /** The environment; default: that of this process. Of the variables `LOOMREC_…`, only `LOOMREC_TRUST` is kept. */
  env?: NodeJS.ProcessEnv;
  /** The path of the binary; default: `findBinary()`. */
  binary?: string;
  /** Whether to refuse calls outside of a session that `begin` has begun; default: true with `{session}`. */
  sessionsByControl?: boolean;
  /** Whether a replay is strict; default true. */
  strict?: boolean;
  /** How long the server may take to listen, in milliseconds; default 30,000. */
  startWithin?: number;
}

/** A server that this program started. It ends when this program ends. */
export class LoomrecServer extends LoomrecClient {
  private constructor();
  /** The last lines that the server wrote to stderr; the receipt is among them once it has stopped. */
  readonly messages: string;
  /** Stops the server as Ctrl-C does. One that does not end within `within` milliseconds is killed. */
  stop(options?: { within?: number }): Promise<{ exitCode: number | string | null; messages: string }>;
}

/** Starts `loomrec record` or `loomrec replay` on a free port, and returns once it listens. */
export function startServer(options: ServerOptions): Promise<LoomrecServer>;

/** Returns the path of the loomrec binary: LOOMREC_BIN, or that of the package for this platform. */
export function findBinary(): string;

/** loomrec could not be found, started or reached, or refused what was asked of it. */
export class LoomrecError extends Error {
  constructor(message: string, details?: { status?: number; cause?: unknown });
  /** Returns an error whose stack is its message. */
  static quiet(message: string): LoomrecError;
  /** The HTTP status of an answer that refused a request to the server. */
  readonly status?: number;
}
