// Error codes by name. The same number has different meanings in the tables of different applications. The application
// of the peer decides which table applies.

/** The codes of JSON-RPC 2.0 §5.1, and the code of the Language Server Protocol for a cancelled request. */
export const ErrorCode: {
  /** The message is not JSON. Only on transports that carry text. */
  readonly ParseError: -32700;
  /** The message is invalid, or exceeds a limit of the receiver, which `data.reason` names. */
  readonly InvalidRequest: -32600;
  /** The peer does not serve this method. */
  readonly MethodNotFound: -32601;
  /** The method does not accept these parameters. */
  readonly InvalidParams: -32602;
  /** The handler failed without a code of its own, or its result could not be sent. */
  readonly InternalError: -32603;
  /** The handler stopped because the caller cancelled the request. */
  readonly RequestCancelled: -32800;
};
/** One of the codes in the object `ErrorCode`. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** The codes of Wiggum, used by the method maps of wiggum.d.ts. */
export const wiggum: {
  /** The code does not compile. `data` is a `Diagnostic[]`. */
  readonly BUILD_FAILED: -32001;
  /** A quality gate did not pass. `data` is a `GateFailure`. */
  readonly GATE_FAILED: -32002;
  /** The user denied permission. */
  readonly PERMISSION_DENIED: -32003;
  /** The user or the chief cancelled the task. */
  readonly TASK_CANCELLED: -32004;
  /** The preview's index.html could not be loaded or parsed. */
  readonly PREVIEW_LOAD_FAILED: -32005;
  /** The preview could not navigate to the URL. */
  readonly NAVIGATION_FAILED: -32006;
  /** An MCP server answered with an error. `data` is the response of that server. */
  readonly MCP_SERVER_ERROR: -32007;
  /** The request does not fit into the model's context window. */
  readonly CONTEXT_OVERFLOW: -32008;
};

/** The codes of the Kaiak agent API. */
export const kaiak: {
  readonly SESSION_CREATION_FAILED: -32001;
  readonly WORKSPACE_ACCESS_DENIED: -32002;
  readonly SESSION_NOT_FOUND: -32003;
  readonly SESSION_ALREADY_TERMINATED: -32004;
  readonly SESSION_NOT_READY: -32005;
  readonly AGENT_INITIALIZATION_FAILED: -32006;
  readonly REQUEST_NOT_FOUND: -32007;
  readonly REQUEST_ALREADY_COMPLETED: -32008;
  readonly INTERACTION_NOT_FOUND: -32009;
  readonly INTERACTION_ALREADY_RESPONDED: -32010;
  readonly RESPONSE_VALIDATION_FAILED: -32011;
  readonly FILE_MODIFICATION_FAILED: -32012;
  readonly TOOL_EXECUTION_TIMEOUT: -32013;
  readonly CONFIGURATION_ERROR: -32014;
  readonly RESOURCE_EXHAUSTED: -32015;
  readonly SESSION_IN_USE: -32016;
};
