// The worker of the page. It answers calls that arrive before its wasm has loaded.
import "portway/early";
import init from "portway";
import { serve } from "./serve.js";

init().then(serve);
