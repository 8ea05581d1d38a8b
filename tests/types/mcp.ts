// Tests the types of `portway/mcp`: options, the errors of HTTP, and the states of a detection.

import { CallError, JSONRPCClient, JSONRPCPeer } from "portway";
import { detectEra, httpTransport, type HttpError, type McpEra, type McpEraState } from "portway/mcp";
import { same, type Equal } from "./equal.js";

const transport = httpTransport("https://example.org/mcp", {
  headers: async () => ({ Authorization: "Bearer token" }),
  era: "modern",
  maxMessage: 1_000,
  maxRequests: 10,
});
new JSONRPCPeer(transport, { dialect: "mcp" });
same<Equal<typeof transport.era, McpEra | undefined>>(true);
new JSONRPCClient(httpTransport("https://example.org/rpc", { headers: [["X-Key", "value"]] }));
httpTransport("https://example.org/mcp", { headers: { "X-Key": "value" } });
httpTransport("https://example.org/mcp", { headers: () => undefined });

// @ts-expect-error There are two eras.
httpTransport("https://example.org/mcp", { era: "new" });
// @ts-expect-error The value of a header is a string.
httpTransport("https://example.org/mcp", { headers: { "X-Key": 1 } });

export function challengeOf(error: unknown): string | undefined {
  if (!(error instanceof CallError) || error.reason !== "http-failed") return undefined;
  return (error as HttpError).data.challenge;
}

export async function firstState(): Promise<McpEraState> {
  const detection = await detectEra({ modern: ["2026-07-28"], legacy: [] });
  detection.handle({ error: -32022, supported: ["2026-07-28"] });
  detection.handle("unusable");
  const { state } = detection;
  if (state.action === "failed" && state.reason === "denied") same<Equal<typeof state.status, number>>(true);
  // @ts-expect-error A reply has one of these members.
  detection.handle({ unknown: true });
  return state;
}
