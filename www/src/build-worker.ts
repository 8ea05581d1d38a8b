import "portway/early";
import { configureSingle, fs, Port, type RPC } from "@zenfs/core";
import init, {
  type BuildHostApi,
  type BuildResult,
  type BuildWorkerApi,
  type Diagnostic,
  ErrorCode,
  JSONRPCPeer,
  RPCError,
  selfTransport,
  wiggum,
} from "portway";
import type { BuildConfig } from "./boundaries";
import { Bundler } from "./build/bundler";
import { toDiagnostic } from "./build/diagnostic";
import { collectPublicFiles, renderIndex } from "./build/site";

await init();
const peer = new JSONRPCPeer<BuildHostApi, Pick<BuildWorkerApi, "build">>(selfTransport());

/** Mounts the file system of the page at the root. The protocol of ZenFS uses the same channel as JSON-RPC. */
const mounted = configureSingle({
  backend: Port,
  port: self as unknown as RPC.Channel,
  timeout: 15_000,
  // The cache would copy every file into the worker, and would not notice changes by the page.
  disableAsyncCache: true,
});

const bundler = new Bundler((progress) => peer.notify("buildProgress", progress));
let last: Promise<unknown> = Promise.resolve();

peer.method("build", ({ entry, config }, context) => {
  const { root, public: files = "public", define = {} } = config as Partial<BuildConfig>;
  if (root === undefined) throw new RPCError(ErrorCode.InvalidParams, "config.root must be a folder, got undefined");
  // Builds run one at a time: the compiler shares its state between builds, and only the newest build is needed.
  const build = last.then(() => run(entry, { root, public: files, define }, context.signal));
  last = build.catch(() => undefined);
  return build.then((result) => {
    context.transfer(result.output.flatMap(({ bytes }) => (bytes ? [bytes.buffer as ArrayBuffer] : [])));
    return result;
  });
});

async function run(entry: string, config: BuildConfig, signal: AbortSignal): Promise<BuildResult> {
  if (signal.aborted) throw cancelled();
  await mounted;
  const bundle = await bundler.build(entry, config, signal).catch((error: unknown) => {
    throw signal.aborted ? cancelled() : failure([toDiagnostic(error)]);
  });
  if (signal.aborted) throw cancelled();
  if (bundle.errors.length) throw failure(bundle.errors);
  for (const warning of bundle.warnings) peer.notify("buildWarning", warning);

  const html = await fs.promises.readFile(`${config.root}/index.html`, "utf8").catch(() => {
    throw failure([{ message: "The project has no index.html" }]);
  });
  const output = [
    ...bundle.output,
    renderIndex(html, entry, bundle.output),
    ...(await collectPublicFiles(`${config.root}/${config.public}`)),
  ];
  return { output, warnings: bundle.warnings };
}

function failure(diagnostics: readonly Diagnostic[]): RPCError {
  const [first] = diagnostics;
  const location = first?.file ? `${first.file}:${first.line}: ` : "";
  return new RPCError(wiggum.BUILD_FAILED, `${location}${first?.message ?? "build failed"}`, diagnostics);
}

function cancelled(): RPCError {
  return new RPCError(ErrorCode.RequestCancelled, "the build was cancelled");
}
