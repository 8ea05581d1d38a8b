import type { Diagnostic } from "portway";

/** A position in a file of the project. Lines and columns are counted from 1. */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export function positionOf({ file, line, column = 0, snippet }: Diagnostic): SourcePosition | undefined {
  return file && line ? { file, line, column: unitsIn(snippet, column) + 1 } : undefined;
}

export function lengthOf({ column = 0, length = 0, snippet }: Diagnostic): number {
  return unitsIn(snippet, column + length) - unitsIn(snippet, column);
}

export function formatPosition({ file, line, column }: SourcePosition): string {
  return `${file}:${line}:${column}`;
}

/** Converts a column of the compiler, in bytes of UTF-8, to a column of the editor, in units of UTF-16. */
function unitsIn(line: string | undefined, bytes: number): number {
  if (line === undefined) return bytes;
  return new TextDecoder().decode(new TextEncoder().encode(line).subarray(0, bytes)).length;
}
