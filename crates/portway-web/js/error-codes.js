// Error codes by name: one table for JSON-RPC 2.0, and one for each of two applications. The same number has different
// meanings in the tables of the two applications.

/** The codes of JSON-RPC 2.0 §5.1, and the code of the Language Server Protocol for a cancelled request. */
export const ErrorCode = /* @__PURE__ */ Object.freeze(
  /** @satisfies {typeof import("../types/error-codes.js").ErrorCode} */ ({
    ParseError: -32700,
    InvalidRequest: -32600,
    MethodNotFound: -32601,
    InvalidParams: -32602,
    InternalError: -32603,
    RequestCancelled: -32800,
  }),
);

/** The codes of Wiggum, an application with builders, previews and agents in a browser. */
export const wiggum = /* @__PURE__ */ Object.freeze(
  /** @satisfies {typeof import("../types/error-codes.js").wiggum} */ ({
    BUILD_FAILED: -32001,
    GATE_FAILED: -32002,
    PERMISSION_DENIED: -32003,
    TASK_CANCELLED: -32004,
    PREVIEW_LOAD_FAILED: -32005,
    NAVIGATION_FAILED: -32006,
    MCP_SERVER_ERROR: -32007,
    CONTEXT_OVERFLOW: -32008,
  }),
);

/** The codes of the Kaiak agent interface. */
export const kaiak = /* @__PURE__ */ Object.freeze(
  /** @satisfies {typeof import("../types/error-codes.js").kaiak} */ ({
    SESSION_CREATION_FAILED: -32001,
    WORKSPACE_ACCESS_DENIED: -32002,
    SESSION_NOT_FOUND: -32003,
    SESSION_ALREADY_TERMINATED: -32004,
    SESSION_NOT_READY: -32005,
    AGENT_INITIALIZATION_FAILED: -32006,
    REQUEST_NOT_FOUND: -32007,
    REQUEST_ALREADY_COMPLETED: -32008,
    INTERACTION_NOT_FOUND: -32009,
    INTERACTION_ALREADY_RESPONDED: -32010,
    RESPONSE_VALIDATION_FAILED: -32011,
    FILE_MODIFICATION_FAILED: -32012,
    TOOL_EXECUTION_TIMEOUT: -32013,
    CONFIGURATION_ERROR: -32014,
    RESOURCE_EXHAUSTED: -32015,
    SESSION_IN_USE: -32016,
  }),
);
