// The declarations of `portway`.

export * from "./api.js";
export * from "./transports.js";
export * from "./errors.js";
export * from "./messages.js";
export * from "./connect.js";
export * from "./error-codes.js";
export * from "./wiggum.js";
export * from "./init.js";
export { default } from "./init.js";
