// What `import … from "portway"` gives.

export * from "./api.js";
export * from "./errors.js";
export * from "./messages.js";
export * from "./connect.js";
export * from "./error-codes.js";
export * from "./wiggum.js";
export * from "./init.js";
export { default } from "./init.js";
