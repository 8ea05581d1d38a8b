import { readTaps } from "portway/tap";
import type { Model } from "./model";

/**
 * Takes the records of the taps in all pages and workers of this origin. A tap sends its next records after the
 * inspector has taken the last ones in, so that records do not fill the memory of a slow inspector.
 */
export function readTapsOfOrigin(model: Model): void {
  readTaps(undefined, (records) => {
    model.take(records);
    return model.whenTaken();
  });
}
