// Tests the types of both peers of each predefined boundary.

import {
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  RPCError,
  wiggum,
  type BuildHostApi,
  type BuildMethods,
  type BuildNotifications,
  type BuildResult,
  type BuildWorkerApi,
  type ChiefApi,
  type ChiefMethods,
  type ChiefNotifications,
  type Diagnostic,
  type FetchParams,
  type FetchResult,
  type GateFailure,
  type HarnessApi,
  type HarnessMethods,
  type HarnessNotifications,
  type MethodName,
  type NotificationName,
  type PreviewFrameApi,
  type PreviewHostApi,
  type PreviewMethods,
  type PreviewNotifications,
  type RalphApi,
  type RPCTransport,
} from "portway";
import { same, type Equal } from "./equal.js";

declare const transport: RPCTransport;

same<Equal<MethodName<PreviewMethods>, "fetch" | "navigate" | "refresh">>(true);
same<Equal<NotificationName<PreviewNotifications>, "console" | "updateNavigationState" | "error">>(true);
same<Equal<MethodName<BuildMethods>, "build" | "buildBackend">>(true);
same<Equal<NotificationName<BuildNotifications>, "buildProgress" | "buildWarning">>(true);
same<Equal<MethodName<HarnessMethods>, "requestPermission" | "askUser">>(true);
same<Equal<NotificationName<HarnessNotifications>, "progress" | "gateResult" | "iterationStart">>(true);
same<Equal<MethodName<ChiefMethods>, "sendTask" | "cancelTask">>(true);
same<Equal<NotificationName<ChiefNotifications>, "progress" | "gateResult" | "complete">>(true);

export async function previewFrame(): Promise<void> {
  const page = new JSONRPCPeer<PreviewHostApi, PreviewFrameApi>(transport);
  const file = await page.remote.fetch({ url: "/dist/app.js" });
  same<Equal<typeof file, FetchResult>>(true);
  atob(file.body);
  file.headers["Content-Type"];
  await page.request("fetch", { url: "/", method: "HEAD" });
  page.notify("console", { level: "error", message: "boom", timestamp: Date.now(), stack: "at a.js:1" });
  page.notify("updateNavigationState", { url: "/about", canGoBack: true, canGoForward: false });
  page.notify("error", { message: "boom", source: "a.js", lineno: 1, colno: 2, stack: undefined });
  page.method("navigate", ({ url }) => {
    if (!url.startsWith("/")) throw new RPCError(wiggum.NAVIGATION_FAILED, "outside of the preview", { url });
  });
  page.method("refresh", async () => {});
  // @ts-expect-error unknown level
  page.notify("console", { level: "fatal", message: "boom", timestamp: 0 });
  // @ts-expect-error the page does not serve `navigate`
  await page.request("navigate", { url: "/" });
}

export function previewPage(): void {
  const frame = new JSONRPCPeer<PreviewFrameApi, PreviewHostApi>(transport);
  frame.method("fetch", async ({ url, method = "GET" }) => ({
    status: url && method ? 200 : 404,
    headers: { "Content-Type": "text/html" },
    body: btoa("<!doctype html>"),
  }));
  frame.onNotify("console", ({ level, message }) => console[level](message));
  frame.onNotify("updateNavigationState", ({ url, canGoBack }) => `${url} ${canGoBack}`);
  frame.onNotify("error", ({ message, source, lineno }) => `${message} at ${source}:${lineno}`);
  frame.notify("navigate", { url: "/about" });
  frame.notify("refresh");
}

export async function previewMethodsAlone(): Promise<void> {
  const client = new JSONRPCClient<PreviewMethods>(transport);
  const params: FetchParams = { url: "/index.html" };
  const file = await client.request("fetch", params);
  same<Equal<typeof file, FetchResult>>(true);
  // @ts-expect-error a notification of another map
  client.notify("console", { level: "log", message: "", timestamp: 0 });
}

export async function buildPage(): Promise<void> {
  const worker = new JSONRPCPeer<BuildWorkerApi, BuildHostApi>(transport);
  worker.onNotify("buildProgress", ({ phase, fraction = 0 }) => `${phase} ${fraction}`);
  worker.onNotify("buildWarning", ({ message, file, line }) => `${file}:${line}: ${message}`);
  try {
    const { output, warnings } = await worker.remote.build({ entry: "src/App.tsx", config: { minify: true } });
    output[0]?.contents.trim();
    warnings[0]?.column?.toFixed();
    const backend = await worker.request("buildBackend", { entry: "api.ts", config: {} });
    same<Equal<typeof backend, BuildResult>>(true);
  } catch (error) {
    if (error instanceof RPCError && error.code === wiggum.BUILD_FAILED) {
      const [first] = error.data as Diagnostic[];
      `${first?.file}:${first?.line}: ${first?.message}`;
    }
  }
  // @ts-expect-error `config` is missing
  await worker.request("build", { entry: "src/App.tsx" });
}

export function buildWorker(): void {
  const server = new JSONRPCServer<BuildWorkerApi, BuildHostApi>(transport);
  server.method("build", async ({ entry }, context) => {
    context.notify("buildProgress", { phase: "bundle", fraction: 0.5, file: entry });
    const place = { file: entry, line: 3, column: 0, length: 1, snippet: "}" };
    const diagnostics: Diagnostic[] = [{ message: "unexpected }", ...place }];
    if (context.signal.aborted) throw new RPCError(wiggum.BUILD_FAILED, "build failed", diagnostics);
    return { output: [{ path: "/dist/app.js", contents: "", bytes: new Uint8Array(0) }], warnings: [], duration: 3 };
  });
}

export async function ralphUnderTheHarness(): Promise<void> {
  const harness = new JSONRPCClient<HarnessApi>(transport, { timeout: 0 });
  const grant = await harness.request("requestPermission", { action: "write_file", description: "Write src/App.tsx" });
  same<Equal<typeof grant.granted, true>>(true);
  const { answer } = await harness.request("askUser", { question: "Which port?", choices: ["80", "8080"] });
  harness.notify("progress", { message: answer });
  harness.notify("iterationStart", { iteration: 1 });
  harness.notify("gateResult", { gate: "typecheck", result: { pass: false, feedback: "2 errors", fix: "an import" } });
  // @ts-expect-error `pass` is missing
  harness.notify("gateResult", { gate: "typecheck", result: {} });
}

export function harness(): void {
  const server = new JSONRPCServer<HarnessApi>(transport);
  server.method("requestPermission", ({ action }) => {
    if (action === "rm") throw new RPCError(wiggum.PERMISSION_DENIED, "no");
    return { granted: true, scope: "session" };
  });
  server.method("askUser", async ({ choices }) => ({ answer: choices?.[0] ?? "" }));
  const failure: GateFailure = { gate: "lint", findings: ["unused import"] };
  server.onNotify("iterationStart", () => new RPCError(wiggum.GATE_FAILED, "gate failed", failure));
}

export async function chiefAndRalph(): Promise<void> {
  const ralph = new JSONRPCPeer<RalphApi, ChiefApi>(transport);
  const { taskId } = await ralph.remote.sendTask({ task: "Add a login page" });
  ralph.onNotify("complete", ({ iterations }) => iterations.toFixed());
  await ralph.remote.cancelTask({ taskId, reason: "changed my mind" });
  const chief = new JSONRPCPeer<ChiefApi, RalphApi>(transport);
  chief.method("sendTask", ({ task }) => ({ taskId: task.slice(0, 8) })).method("cancelTask", () => {});
  chief.notify("complete", { iterations: 3 });
  chief.notify("progress", { message: "reading", iteration: 1 });
}

/** Boundaries can be extended. */
interface MyHostApi extends PreviewHostApi {
  upload: { params: { path: string }; result: number };
}
export const uploaded = await new JSONRPCClient<MyHostApi>(transport).request("upload", { path: "/a" });
same<Equal<typeof uploaded, number>>(true);
