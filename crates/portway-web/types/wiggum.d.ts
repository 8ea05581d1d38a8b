// Method maps of an application that runs code in a browser. It has an editor page with a preview iframe, a build
// worker, and an agent (Ralph). Ralph works under a harness and receives its tasks from a chief. Applications can copy
// or extend the maps: `interface MyHostApi extends PreviewHostApi { … }`.
//
// Each pair of peers has
// - `…Methods` and `…Notifications`: all requests and notifications between the peers, in both directions;
// - one `…Api` for each peer that serves methods, named after that peer: the requests that it answers and the
//   notifications that it handles. The peer itself uses `JSONRPCPeer<RemoteApi, OwnApi>`, a peer that only calls uses
//   `JSONRPCClient<RemoteApi>`, and a peer that only serves uses `JSONRPCServer<OwnApi>`.
//
// Optional members may also be `undefined`. All types are plain data for JSON and structured clone, except where a
// comment notes an exception.

// ----------------------------------------------- preview iframe and page

/** Parameters of `fetch`. */
export interface FetchParams {
  /** The URL or absolute path of the file, as the preview's code requested it. */
  url: string;
  /** The HTTP method. Default `"GET"`. */
  method?: string | undefined;
}

/** The result of `fetch`. A missing file is a result with status 404, not an error. */
export interface FetchResult {
  /** An HTTP status code. */
  status: number;
  /** The headers by name, including `Content-Type`. */
  headers: Record<string, string>;
  /** The body in base64. Text is encoded as UTF-8 first. */
  body: string;
}

/** Parameters of `navigate`. */
export interface NavigateParams {
  /** An absolute path or a URL inside the preview. */
  url: string;
}

/** Parameters of `console`: one message that the preview's code logged. */
export interface ConsoleParams {
  level: "log" | "warn" | "error" | "info" | "debug";
  /** The arguments, joined to one text. */
  message: string;
  /** The time of the message, in ms since 1970. */
  timestamp: number;
  /** The stack, for unhandled rejections. */
  stack?: string | undefined;
}

/** Parameters of `updateNavigationState`: the current location of the preview. */
export interface NavigationState {
  url: string;
  canGoBack: boolean;
  canGoForward: boolean;
}

/** Parameters of `error`: an exception that the preview's code did not catch. */
export interface PreviewError {
  message: string;
  /** The URL of the script. */
  source: string;
  /** The line, from 1. 0 if unknown. */
  lineno: number;
  /** The column, from 1. 0 if unknown. */
  colno: number;
  stack?: string | undefined;
}

/** The requests between the preview iframe and its page. */
export interface PreviewMethods {
  /** Iframe to page: reads one file of the project. */
  fetch: { params: FetchParams; result: FetchResult };
  /**
   * Page to iframe: navigates to another route. Fails with `wiggum.NAVIGATION_FAILED`. Often sent as a notification.
   */
  navigate: { params: NavigateParams; result: null };
  /** Page to iframe: reloads the route. Fails with `wiggum.PREVIEW_LOAD_FAILED`. Often sent as a notification. */
  refresh: { result: null };
}

/** The notifications from the preview iframe to its page. */
export interface PreviewNotifications {
  console: { params: ConsoleParams };
  updateNavigationState: { params: NavigationState };
  error: { params: PreviewError };
}

/** The methods that the page serves to the preview iframe. */
export interface PreviewHostApi extends Pick<PreviewMethods, "fetch">, PreviewNotifications {}

/** The methods that the preview iframe serves to the page. */
export interface PreviewFrameApi extends Pick<PreviewMethods, "navigate" | "refresh"> {}

// --------------------------------------------------- build worker and page

/**
 * A message of the compiler, with its location if it has one. The `data` of `wiggum.BUILD_FAILED` is an array of these
 * messages.
 */
export interface Diagnostic {
  message: string;
  /** The path in the project. */
  file?: string | undefined;
  /** The line, from 1. */
  line?: number | undefined;
  /** The column, from 0, in UTF-8 bytes, as in esbuild. */
  column?: number | undefined;
  /** The length of the marked part, in the unit of `column`. */
  length?: number | undefined;
  /** The text of the line. */
  snippet?: string | undefined;
}

/** Parameters of `build` and `buildBackend`. */
export interface BuildParams {
  /** The path of the entry module in the project. */
  entry: string;
  /** Options for the compiler, such as esbuild's `BuildOptions` without its plugins. */
  config: object;
}

/** One output file of a build. */
export interface BuildOutput {
  path: string;
  /** The contents as text. */
  contents: string;
  /** The contents as bytes, for a file that is not text. Requires structured clone. */
  bytes?: Uint8Array | undefined;
}

/** The result of a build. */
export interface BuildResult {
  output: BuildOutput[];
  warnings: Diagnostic[];
  /** The duration of the build, in ms. */
  duration?: number | undefined;
}

/** Parameters of `buildProgress`. */
export interface BuildProgress {
  /** The name of the current phase: "resolve", "bundle", … */
  phase: string;
  /** The completed fraction, from 0 to 1, if it is known. */
  fraction?: number | undefined;
  /** The current file. */
  file?: string | undefined;
}

/** The requests from a page to its build worker. */
export interface BuildMethods {
  /** Bundles the front end. Fails with `wiggum.BUILD_FAILED` and `Diagnostic[]`. */
  build: { params: BuildParams; result: BuildResult };
  /** Bundles the back end. Fails with `wiggum.BUILD_FAILED` and `Diagnostic[]`. */
  buildBackend: { params: BuildParams; result: BuildResult };
}

/** The notifications from a build worker to its page. */
export interface BuildNotifications {
  buildProgress: { params: BuildProgress };
  buildWarning: { params: Diagnostic };
}

/** The methods that the build worker serves to the page. */
export interface BuildWorkerApi extends BuildMethods {}

/** The notifications that the page handles. */
export interface BuildHostApi extends BuildNotifications {}

// ------------------------------------------------------- Ralph and harness

/** Parameters of `requestPermission`. */
export interface PermissionParams {
  /** The stable name of the action: "write_file", "run_command", … */
  action: string;
  /** A description of the action for a person. */
  description: string;
  /** The object of the action: the path, the command line, … */
  details?: Record<string, unknown> | undefined;
}

/** The result of a granted `requestPermission`. A refusal is the error `wiggum.PERMISSION_DENIED`. */
export interface PermissionGrant {
  granted: true;
  /** The scope of the permission: this action only, or the same action in this session. Default `"once"`. */
  scope?: "once" | "session" | undefined;
}

/** Parameters of `askUser`. */
export interface QuestionParams {
  question: string;
  /** The possible answers. Without them, the answer may be any text. */
  choices?: string[] | undefined;
}

/** The result of `askUser`. */
export interface QuestionAnswer {
  answer: string;
}

/** Parameters of `progress`, sent to the harness and to the chief. */
export interface AgentProgress {
  /** A description of Ralph's current work for a person. */
  message: string;
  /** The number of the iteration, from 1. */
  iteration?: number | undefined;
}

/** Parameters of `gateResult`: the outcome of one quality gate, sent to the harness and to the chief. */
export interface GateResult {
  /** The name of the gate. */
  gate: string;
  result: {
    pass: boolean;
    /** The findings, for the next iteration. */
    feedback?: string | undefined;
    /** A proposed fix. */
    fix?: string | undefined;
  };
}

/** The `data` of `wiggum.GATE_FAILED`. */
export interface GateFailure {
  gate: string;
  /** The findings, one text each. */
  findings: string[];
}

/** Parameters of `iterationStart`. */
export interface IterationParams {
  /** The number of the iteration, from 1. */
  iteration: number;
}

/** The requests from Ralph to the harness. A person answers them, so they need `timeout: 0`. */
export interface HarnessMethods {
  /** May fail with `wiggum.PERMISSION_DENIED`. */
  requestPermission: { params: PermissionParams; result: PermissionGrant };
  askUser: { params: QuestionParams; result: QuestionAnswer };
}

/** The notifications from Ralph to the harness. */
export interface HarnessNotifications {
  progress: { params: AgentProgress };
  gateResult: { params: GateResult };
  iterationStart: { params: IterationParams };
}

/**
 * The methods that the harness serves to Ralph, as a `JSONRPCServer<HarnessApi>`. Ralph serves no methods to the
 * harness.
 */
export interface HarnessApi extends HarnessMethods, HarnessNotifications {}

// --------------------------------------------------------- chief and Ralph

/** Parameters of `sendTask`. */
export interface TaskParams {
  /** The description of the task. */
  task: string;
  /** The id of the task. Default: Ralph generates one. */
  taskId?: string | undefined;
}

/** The result of `sendTask`, sent as soon as the task is accepted. `complete` reports the end of the task. */
export interface TaskAccepted {
  taskId: string;
}

/** Parameters of `cancelTask`. */
export interface CancelTaskParams {
  taskId: string;
  /** The reason, for the log. */
  reason?: string | undefined;
}

/** Parameters of `complete`. */
export interface CompleteParams {
  /** The number of iterations. */
  iterations: number;
  taskId?: string | undefined;
}

/** The requests from the chief to Ralph. */
export interface ChiefMethods {
  sendTask: { params: TaskParams; result: TaskAccepted };
  /** Cancels a task. Its running requests fail with `wiggum.TASK_CANCELLED`. */
  cancelTask: { params: CancelTaskParams; result: null };
}

/** The notifications from Ralph to the chief. */
export interface ChiefNotifications {
  progress: { params: AgentProgress };
  gateResult: { params: GateResult };
  complete: { params: CompleteParams };
}

/** The methods that Ralph serves to the chief. */
export interface RalphApi extends ChiefMethods {}

/** The notifications that the chief handles. */
export interface ChiefApi extends ChiefNotifications {}
