import type { Message } from "esbuild-wasm";
import type { Diagnostic } from "portway";

/** Returns a message of the compiler, or another error, in the form that is sent to the page. */
export function toDiagnostic(problem: unknown): Diagnostic {
  if (!isMessage(problem)) return { message: problem instanceof Error ? problem.message : String(problem) };
  const { text, location } = problem;
  if (!location) return { message: text };
  return {
    message: text,
    file: location.file,
    line: location.line,
    column: location.column,
    length: location.length,
    snippet: location.lineText,
  };
}

function isMessage(problem: unknown): problem is Message {
  return typeof problem === "object" && problem !== null && "text" in problem && "location" in problem;
}
