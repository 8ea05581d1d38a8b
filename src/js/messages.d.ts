// What crosses a boundary, and what there is to say about it.

/** A request: a call that the other side answers, once, under the same `id`. */
export interface JSONRPCRequest {
  jsonrpc: "2.0";
  method: string;
  /** By name (object) or by position (array); absent when the method takes none. */
  params?: Record<string, unknown> | unknown[];
  id: number | string;
}

/** A notification: has no `id` key and is never answered. */
export interface JSONRPCNotification {
  jsonrpc: "2.0";
  method: string;
  params?: Record<string, unknown> | unknown[];
}

/** The answer to a request that went well. */
export interface JSONRPCSuccessResponse {
  jsonrpc: "2.0";
  result: unknown;
  id: number | string;
}

/** The answer to a request that failed. */
export interface JSONRPCErrorResponse {
  jsonrpc: "2.0";
  error: { code: number; message: string; data?: unknown };
  /** `null` when the request was too broken to find its id in it (JSON-RPC 2.0 §5). */
  id: number | string | null;
}

/** Either answer. */
export type JSONRPCResponse = JSONRPCSuccessResponse | JSONRPCErrorResponse;

/** Everything that crosses a boundary, apart from batches, which are arrays of these. */
export type JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse;

/** What `validateMessage` found. */
export interface ValidationReport {
  /** Whether there are no errors; warnings do not count. */
  isValid: boolean;
  /** The first 10 000; `warnings`, too. */
  errors: string[];
  warnings: string[];
}

/**
 * Checks a parsed message, or an array as a batch, against JSON-RPC 2.0; never throws. Without `type` the message's own
 * members decide whether it is read as a request or as a response.
 */
export function validateMessage(
  message: unknown,
  options?: { type?: "request" | "response" | undefined },
): ValidationReport;

export {};
