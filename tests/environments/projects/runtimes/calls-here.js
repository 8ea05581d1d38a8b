// Runs the shared tests in this runtime, and prints their results.

import * as library from "portway";
import * as inline from "portway/inline";
import { callTests } from "./calls.js";
import { report } from "./report.js";

const ofInline = callTests(inline).map(([name, body]) => [`${name}, with portway/inline`, body]);
await report([...callTests(library), ...ofInline]);
