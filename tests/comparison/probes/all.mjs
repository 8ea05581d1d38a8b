// Lists every behaviour, in the order of the table.

import { endings } from "./endings.mjs";
import { features } from "./features.mjs";
import { protocol } from "./protocol.mjs";

export const behaviours = [...endings, ...features, ...protocol];
