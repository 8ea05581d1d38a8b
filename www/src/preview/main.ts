import "portway/early";
import init, { JSONRPCPeer, RPCError, wiggum, windowTransport } from "portway/inline";
import type { FrameApi, HostApi } from "../boundaries";
import { captureConsole } from "./console-capture";
import { ErrorReporter } from "./error-reporter";
import { PreviewHistory } from "./history";
import { fetchThroughPage, replaceFetch } from "./page-fetch";
import { showDocument } from "./document-loader";

// This file is the runtime of the preview. It runs in the iframe of the preview, which has an opaque origin. The files
// of the app are not on the network. So the runtime requests each of these files by the method `fetch` of the page.
await init();
const peer = new JSONRPCPeer<HostApi, FrameApi>(windowTransport(parent, { origin: location.origin }));

const saved = await peer.request("enter");
const history = new PreviewHistory(saved, (state) => peer.notify("updateNavigationState", state), restart);
const fetchFile = fetchThroughPage(peer, () => history.location.href);
const errors = new ErrorReporter(peer, fetchFile);

captureConsole((entry) => peer.notify("console", entry));
errors.listen();
replaceFetch(fetchFile, (url) => history.resolve(url));

peer.method("navigate", async ({ url }) => {
  const target = history.resolve(url);
  // `wiggum` contains the error codes of builders and previews in a browser.
  if (!target) throw new RPCError(wiggum.NAVIGATION_FAILED, "Only addresses of this app can be shown");
  await history.open(target);
  return null;
});
peer.method("refresh", () => {
  restart();
  return null;
});
peer.method("traverse", ({ delta }) => {
  history.go(delta);
  return null;
});

/**
 * Passes the history to the page, and reloads the iframe after the page has responded. A call of the page, such as
 * `refresh`, may have caused the reload. The response to that call is sent before the reload, because the reload waits
 * for the page.
 */
function restart(): void {
  void peer.request("leave", history.save()).finally(() => location.reload());
}

// The handler is on the window, so that the handlers of the app run first.
addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a[href]");
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  const target = history.resolve(link.getAttribute("href") ?? "");
  if (target) void history.open(target);
  else console.warn("The preview cannot open addresses of other sites:", link.getAttribute("href"));
});

history.reportState();
try {
  await showDocument(history.location.href, fetchFile, errors);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  document.body.textContent = message;
  errors.report({ message, source: history.location.href, lineno: 0, colno: 0, stack: "" });
}
