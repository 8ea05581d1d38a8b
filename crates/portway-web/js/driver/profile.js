// The notifications that cancel a request and report its progress: their methods, and the members of their params.
// Other protocols that are built on JSON-RPC use other names.

export const CANCEL = "$/cancelRequest";
export const CANCEL_ID = "id";
/** Only messages of the dialect `mcp` have this member. */
export const CANCEL_REASON = "reason";

export const PROGRESS = "$/progress";
export const PROGRESS_TOKEN = "token";
export const PROGRESS_VALUE = "value";
