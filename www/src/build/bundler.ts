import * as esbuild from "esbuild-wasm";
import wasmUrl from "esbuild-wasm/esbuild.wasm?url";
import type { BuildOutput, BuildProgress, Diagnostic } from "portway";
import type { BuildConfig } from "../boundaries";
import { toDiagnostic } from "./diagnostic";
import { projectFiles } from "./project-files";

export interface Bundle {
  readonly output: BuildOutput[];
  readonly errors: Diagnostic[];
  readonly warnings: Diagnostic[];
}

type Report = (progress: BuildProgress) => void;

/**
 * Bundles files of the mounted file system with esbuild. Builds with the same parameters share a context of esbuild.
 */
export class Bundler {
  readonly #report: Report;
  #started: Promise<void> | undefined;
  #context: { key: string; value: esbuild.BuildContext } | undefined;

  constructor(report: Report) {
    this.#report = report;
  }

  async build(entry: string, config: BuildConfig, signal: AbortSignal): Promise<Bundle> {
    this.#started ??= this.#start();
    await this.#started;
    const context = await this.#contextFor(entry, config);
    const cancel = () => void context.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      this.#report({ phase: "Resolving" });
      // The error of a failed build contains the compiler's errors and warnings.
      const result = await context.rebuild().catch((error: unknown) => {
        if (isFailure(error)) return { ...error, outputFiles: [] };
        throw error;
      });
      const output = result.outputFiles ?? [];
      this.#report({ phase: "Writing" });
      return {
        output: output.map(({ path, text }) => ({ path: path.slice(config.root.length), contents: text })),
        errors: result.errors.map(toDiagnostic),
        warnings: result.warnings.map(toDiagnostic),
      };
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  async #start(): Promise<void> {
    this.#report({ phase: "Starting the compiler" });
    // Not `compileStreaming`: in Firefox, a page that is left during a streaming compilation can block all later
    // compilations of its process.
    const response = await fetch(wasmUrl);
    if (!response.ok) throw new Error(`the compiler must be at ${wasmUrl}, got HTTP status ${response.status}`);
    const wasmModule = await WebAssembly.compile(await response.arrayBuffer());
    await esbuild.initialize({ wasmModule });
  }

  async #contextFor(entry: string, config: BuildConfig): Promise<esbuild.BuildContext> {
    const key = JSON.stringify([entry, config]);
    if (this.#context?.key === key) return this.#context.value;
    await this.#context?.value.dispose();
    const value = await esbuild.context({
      absWorkingDir: config.root,
      entryPoints: { main: `./${entry}` },
      outdir: config.root,
      write: false,
      bundle: true,
      format: "esm",
      target: "es2022",
      sourcemap: "external",
      sourcesContent: false,
      jsx: "automatic",
      jsxImportSource: "preact",
      define: config.define,
      logLevel: "silent",
      plugins: [projectFiles(config.root, (file) => this.#report({ phase: "Bundling", file }))],
    });
    this.#context = { key, value };
    return value;
  }
}

function isFailure(error: unknown): error is esbuild.BuildFailure {
  return error instanceof Error && "errors" in error;
}
