import "./app";
import { workspace } from "./workspace";

workspace.start().catch((error: unknown) => {
  workspace.console.add(
    "error",
    `The playground could not start: ${error instanceof Error ? error.message : String(error)}`,
  );
});
