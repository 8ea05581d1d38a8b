// Tests timeouts under the fake timers of sinon.

import * as library from "portway";
import sinon from "sinon";
import { clockTests } from "./calls.js";
import { report } from "./report.js";

let clock;
const fake = {
  use({ only }) {
    clock = sinon.useFakeTimers(only && { toFake: only });
  },
  advance: (ms) => clock.tickAsync(ms),
  real: () => clock?.restore(),
  clear: () => clock.reset(),
};
let copies = 0;
const fresh = () => import(new URL(`../node_modules/portway/node.js?copy=${++copies}`, import.meta.url));

await report(clockTests(library, fake, fresh));
