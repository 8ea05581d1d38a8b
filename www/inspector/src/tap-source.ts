import { readTaps } from "portway/tap";
import type { Model } from "./model";

/**
 * Takes the records of the taps in all pages and workers of this origin. A tap sends its next records once the records
 * before have been taken in, so a slow inspector does not fill its memory.
 */
export function readTapsOfOrigin(model: Model): void {
  readTaps(undefined, (records) => {
    model.take(records);
    return model.whenTaken();
  });
}
