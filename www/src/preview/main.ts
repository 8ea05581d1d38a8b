import "portway/early";
import init, { JSONRPCPeer, RPCError, wiggum, windowTransport } from "portway/inline";
import type { FrameApi, HostApi } from "../boundaries";
import { captureConsole } from "./console-capture";
import { ErrorReporter } from "./error-reporter";
import { PreviewHistory } from "./history";
import { fetchThroughPage, replaceFetch } from "./page-fetch";
import { showDocument } from "./document-loader";

/**
 * The runtime of the preview. The iframe of the preview has an opaque origin and no network. The runtime reads every
 * file of the app by the method `fetch` of the page.
 */
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
 * Saves the history by a call to the page, and reloads the iframe after the page has responded. In the meantime, the
 * iframe sends its response to the call that causes the reload. An immediate reload would prevent this response.
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
