import { type ExportOptions, exportRecords, type TapRecord } from "portway-inspector";
import { nextTask } from "./next-task";

/** A task writes no further record once the texts of its records have this length, in UTF-16 units. */
const SLICE_LENGTH = 1 << 18;
/** The maximum number of records that one task writes. */
const SLICE_RECORDS = 500;

/** The parts of a file, in their order, and the number of its records. */
export interface FileParts {
  readonly parts: readonly string[];
  readonly rows: number;
}

/**
 * Writes records as a file. Each part is written in a task of its own, so that a large history does not block the page.
 * Records that leave the history meanwhile are not in the file.
 */
export async function writeFile(
  seqs: ArrayLike<number>,
  recordOf: (seq: number) => TapRecord | undefined,
  options: ExportOptions,
): Promise<FileParts> {
  const parts: string[] = [];
  let rows = 0;
  for (let at = 0; at < seqs.length; ) {
    const records: TapRecord[] = [];
    for (let length = 0; at < seqs.length && length < SLICE_LENGTH && records.length < SLICE_RECORDS; at += 1) {
      const record = recordOf(seqs[at] ?? 0);
      if (!record) continue;
      records.push(record);
      length += record.text?.length ?? 0;
    }
    if (!records.length) continue;
    const text = exportRecords(records, options);
    // The text of these records is a whole array: `[\n`, the lines, and `\n]\n`. Only the lines are used.
    if (options.format === "jsonl") parts.push(text);
    else parts.push(rows ? ",\n" : "[\n", text.slice(2, -3));
    rows += records.length;
    await new Promise<void>((resolve) => nextTask(() => resolve()));
  }
  if (rows && options.format !== "jsonl") parts.push("\n]\n");
  return { parts, rows };
}
