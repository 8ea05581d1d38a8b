import "portway/early";
import init, { JSONRPCPeer, RPCError, wiggum, windowTransport } from "portway/inline";
import type { FrameApi, HostApi } from "../boundaries";
import { captureConsole } from "./console-capture";
import { ErrorReporter } from "./error-reporter";
import { PreviewHistory } from "./history";
import { fetchThroughPage, replaceFetch } from "./page-fetch";
import { showDocument } from "./document-loader";

/**
 * The runtime of the preview. Its iframe has an opaque origin and no network: it reads every file of the app from the
 * page, by the method `fetch`.
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
 * Replaces the document by reloading the iframe. The page is called first. Its answer shows that all earlier messages
 * have arrived, so the reply to `refresh` is not lost with the old document.
 */
function restart(): void {
  void peer.request("leave", history.save()).finally(() => location.reload());
}

// The handlers are on the window, so that the app's own handlers run first.
addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a[href]");
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  const target = history.resolve(link.getAttribute("href") ?? "");
  if (target) void history.open(target);
  else console.warn("The preview does not leave the app:", link.getAttribute("href"));
});

history.announce();
try {
  await showDocument(history.location.href, fetchFile, errors);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  document.body.textContent = message;
  errors.report({ message, source: history.location.href, lineno: 0, colno: 0, stack: "" });
}
