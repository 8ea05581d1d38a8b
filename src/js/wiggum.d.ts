// Method maps of an application that runs code in a browser: an editor page with a preview frame, a build worker, and
// an agent (Ralph) that works under a harness and takes its tasks from a chief. Copy them for an application of your
// own, or extend them: `interface MyHostApi extends PreviewHostApi { … }`.
//
// For each boundary there are
// - `…Methods` and `…Notifications`: everything that crosses it, in both directions;
// - one `…Api` for each side that serves something, named after the side that SERVES it: the requests that this side
//   answers and the notifications that it listens to. The side itself writes `JSONRPCPeer<TheOtherApi, ItsOwnApi>`;
//   who only calls it, `JSONRPCClient<ItsApi>`; who only serves, `JSONRPCServer<ItsOwnApi>`.
//
// Optional members may also be `undefined`. All types are plain data that survives JSON as well as structured clone,
// except where a comment says otherwise.

// ------------------------------------------------ preview frame and page

/** Parameters of `fetch`. */
export interface FetchParams {
  /** The file's URL or absolute path, as the preview's code asked for it. */
  url: string;
  /** The HTTP method. Default `"GET"`. */
  method?: string | undefined;
}

/** What `fetch` yields. A missing file is a result with status 404, not an error. */
export interface FetchResult {
  /** An HTTP status code. */
  status: number;
  /** By header name; has at least `Content-Type`. */
  headers: Record<string, string>;
  /** The body's bytes in base64; text is UTF-8 first. */
  body: string;
}

/** Parameters of `navigate`. */
export interface NavigateParams {
  /** An absolute path or a URL inside the preview. */
  url: string;
}

/** Parameters of `console`: one line that the preview's code wrote. */
export interface ConsoleParams {
  level: "log" | "warn" | "error" | "info" | "debug";
  /** The arguments as one text. */
  message: string;
  /** When it was written, in ms since 1970. */
  timestamp: number;
  /** Where it was written; with unhandled rejections. */
  stack?: string | undefined;
}

/** Parameters of `updateNavigationState`: where the preview is now. */
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
  /** From 1; 0 when unknown. */
  lineno: number;
  /** From 1; 0 when unknown. */
  colno: number;
  stack?: string | undefined;
}

/** The requests between the preview frame and the page around it. */
export interface PreviewMethods {
  /** Frame to page: reads one file of the project. */
  fetch: { params: FetchParams; result: FetchResult };
  /** Page to frame: shows another route. Fails with `wiggum.NAVIGATION_FAILED`. Often sent as a notification. */
  navigate: { params: NavigateParams; result: null };
  /** Page to frame: loads the route again. Fails with `wiggum.PREVIEW_LOAD_FAILED`. Often sent as a notification. */
  refresh: { result: null };
}

/** The notifications between the preview frame and the page around it, all from the frame to the page. */
export interface PreviewNotifications {
  console: { params: ConsoleParams };
  updateNavigationState: { params: NavigationState };
  error: { params: PreviewError };
}

/** What the page serves to the preview frame. */
export interface PreviewHostApi extends Pick<PreviewMethods, "fetch">, PreviewNotifications {}

/** What the preview frame serves to the page. */
export interface PreviewFrameApi extends Pick<PreviewMethods, "navigate" | "refresh"> {}

// --------------------------------------------------- build worker and page

/** Something that the compiler has to say, with its place where it has one. `wiggum.BUILD_FAILED` carries an array. */
export interface Diagnostic {
  message: string;
  /** Path inside the project. */
  file?: string | undefined;
  /** From 1. */
  line?: number | undefined;
  /** From 0, as esbuild counts: in UTF-8 bytes. */
  column?: number | undefined;
  /** How much of the line is meant, in the unit of `column`. */
  length?: number | undefined;
  /** The line itself. */
  snippet?: string | undefined;
}

/** Parameters of `build` and `buildBackend`. */
export interface BuildParams {
  /** Path of the entry module inside the project. */
  entry: string;
  /** Options for the compiler, such as esbuild's `BuildOptions` without its plugins. */
  config: object;
}

/** One file that a build made. */
export interface BuildOutput {
  path: string;
  /** As text. */
  contents: string;
  /** As bytes, for files that are no text; needs structured clone. */
  bytes?: Uint8Array | undefined;
}

/** What a build yields. */
export interface BuildResult {
  output: BuildOutput[];
  warnings: Diagnostic[];
  /** How long it took, in ms. */
  duration?: number | undefined;
}

/** Parameters of `buildProgress`. */
export interface BuildProgress {
  /** What is being done, in the worker's words: "resolve", "bundle", … */
  phase: string;
  /** How far it is, from 0 to 1, where that is known. */
  fraction?: number | undefined;
  /** The file at hand. */
  file?: string | undefined;
}

/** The requests between a page and its build worker, all from the page to the worker. */
export interface BuildMethods {
  /** Bundles the front end. Fails with `wiggum.BUILD_FAILED` and `Diagnostic[]`. */
  build: { params: BuildParams; result: BuildResult };
  /** Bundles the back end. Fails likewise. */
  buildBackend: { params: BuildParams; result: BuildResult };
}

/** The notifications between a page and its build worker, all from the worker to the page. */
export interface BuildNotifications {
  buildProgress: { params: BuildProgress };
  buildWarning: { params: Diagnostic };
}

/** What the build worker serves to the page. */
export interface BuildWorkerApi extends BuildMethods {}

/** What the page listens to. */
export interface BuildHostApi extends BuildNotifications {}

// ------------------------------------------------------- Ralph and harness

/** Parameters of `requestPermission`. */
export interface PermissionParams {
  /** What is to be done, as a name that can be remembered: "write_file", "run_command", … */
  action: string;
  /** The same for a person to read. */
  description: string;
  /** What it is to be done to: the path, the command line, … */
  details?: Record<string, unknown> | undefined;
}

/** What a granted `requestPermission` yields. A refusal is the error `wiggum.PERMISSION_DENIED`. */
export interface PermissionGrant {
  granted: true;
  /** Whether the same action need not be asked for again. Default `"once"`. */
  scope?: "once" | "session" | undefined;
}

/** Parameters of `askUser`. */
export interface QuestionParams {
  question: string;
  /** Answers to choose from; without them any text will do. */
  choices?: string[] | undefined;
}

/** What `askUser` yields. */
export interface QuestionAnswer {
  answer: string;
}

/** Parameters of `progress`, on both of Ralph's boundaries. */
export interface AgentProgress {
  /** What Ralph is doing, for a person to read. */
  message: string;
  /** From 1. */
  iteration?: number | undefined;
}

/** Parameters of `gateResult`: how one quality gate ended, on both of Ralph's boundaries. */
export interface GateResult {
  /** The gate's name. */
  gate: string;
  result: {
    pass: boolean;
    /** What is wrong, for the next iteration to read. */
    feedback?: string | undefined;
    /** What would put it right. */
    fix?: string | undefined;
  };
}

/** The `data` of `wiggum.GATE_FAILED`. */
export interface GateFailure {
  gate: string;
  /** One text for each thing that was found. */
  findings: string[];
}

/** Parameters of `iterationStart`. */
export interface IterationParams {
  /** From 1. */
  iteration: number;
}

/** The requests between Ralph and the harness, all from Ralph. A person answers them: call with `timeout: 0`. */
export interface HarnessMethods {
  /** May fail with `wiggum.PERMISSION_DENIED`. */
  requestPermission: { params: PermissionParams; result: PermissionGrant };
  askUser: { params: QuestionParams; result: QuestionAnswer };
}

/** The notifications between Ralph and the harness, all from Ralph to the harness. */
export interface HarnessNotifications {
  progress: { params: AgentProgress };
  gateResult: { params: GateResult };
  iterationStart: { params: IterationParams };
}

/** What the harness serves to Ralph. Ralph serves nothing here: the harness is `JSONRPCServer<HarnessApi>`. */
export interface HarnessApi extends HarnessMethods, HarnessNotifications {}

// --------------------------------------------------------- chief and Ralph

/** Parameters of `sendTask`. */
export interface TaskParams {
  /** What to do, as text. */
  task: string;
  /** A name for it; Ralph makes one up otherwise. */
  taskId?: string | undefined;
}

/** What `sendTask` yields, as soon as the task is accepted. Its end is told by `complete`. */
export interface TaskAccepted {
  taskId: string;
}

/** Parameters of `cancelTask`. */
export interface CancelTaskParams {
  taskId: string;
  /** For the log. */
  reason?: string | undefined;
}

/** Parameters of `complete`. */
export interface CompleteParams {
  /** How many iterations it took. */
  iterations: number;
  taskId?: string | undefined;
}

/** The requests between the chief and Ralph, all from the chief to Ralph. */
export interface ChiefMethods {
  sendTask: { params: TaskParams; result: TaskAccepted };
  /** Whatever runs for the task fails with `wiggum.TASK_CANCELLED`. */
  cancelTask: { params: CancelTaskParams; result: null };
}

/** The notifications between the chief and Ralph, all from Ralph to the chief. */
export interface ChiefNotifications {
  progress: { params: AgentProgress };
  gateResult: { params: GateResult };
  complete: { params: CompleteParams };
}

/** What Ralph serves to the chief. */
export interface RalphApi extends ChiefMethods {}

/** What the chief listens to. */
export interface ChiefApi extends ChiefNotifications {}
