import "portway/early";
import init from "portway";
import { serve } from "./serve.js";

init().then(serve);
