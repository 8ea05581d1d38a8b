// What `import … from "portway"` gives.

export * from "./types.js";
export * from "./errors.js";
export * from "./messages.js";
export * from "./connect.js";
export * from "./error-codes.js";
export * from "./boundaries.js";
export * from "./init.js";
export { default } from "./init.js";
