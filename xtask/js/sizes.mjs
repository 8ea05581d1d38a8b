// Prints the sizes of the files in the arguments, raw and compressed, as JSON: [{ file, raw, gzip, brotli }]. An
// argument may name several files, separated by +. The contents of these files are measured together.
import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

const sizes = process.argv.slice(2).map((file) => {
  const bytes = Buffer.concat(file.split("+").map((part) => readFileSync(part)));
  return {
    file,
    raw: bytes.length,
    gzip: gzipSync(bytes, { level: 9 }).length,
    brotli: brotliCompressSync(bytes).length,
  };
});
console.log(JSON.stringify(sizes));
