// The messages of JSON-RPC 2.0, and their validation.

/** A request. The peer answers it once, with the same `id`. */
export interface JSONRPCRequest {
  jsonrpc: "2.0";
  method: string;
  /** The parameters by name (object) or by position (array). Absent if the method takes none. */
  params?: Record<string, unknown> | unknown[];
  id: number | string;
}

/** A notification: it has no `id` and is not answered. */
export interface JSONRPCNotification {
  jsonrpc: "2.0";
  method: string;
  params?: Record<string, unknown> | unknown[];
}

/** The response to a request that succeeded. */
export interface JSONRPCSuccessResponse {
  jsonrpc: "2.0";
  result: unknown;
  id: number | string;
}

/** The response to a request that failed. */
export interface JSONRPCErrorResponse {
  jsonrpc: "2.0";
  error: { code: number; message: string; data?: unknown };
  /** `null` if the id of the request could not be determined (JSON-RPC 2.0 §5). */
  id: number | string | null;
}

/** A response of either kind. */
export type JSONRPCResponse = JSONRPCSuccessResponse | JSONRPCErrorResponse;

/** Any message except a batch, which is an array of messages. */
export type JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse;

/** The result of `validateMessage`. */
export interface ValidationReport {
  /** Whether there are no errors. There may be warnings. */
  isValid: boolean;
  /** The first 10 000 errors. */
  errors: string[];
  /** The first 10 000 warnings. */
  warnings: string[];
}

/**
 * Checks a parsed message, or an array as a batch, against JSON-RPC 2.0. `type` is the expected kind. Without `type`,
 * the members of the message determine its kind. Throws a `TypeError` only if `type` is invalid.
 */
export function validateMessage(
  message: unknown,
  options?: { type?: "request" | "response" | undefined },
): ValidationReport;

export {};
