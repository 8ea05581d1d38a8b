// Computes medians, quartiles and ratios. A ratio compares results of the same round, because other load on the machine
// affects all libraries of a round in the same way.

/** Returns the quantile of a list. `fraction` is 0.5 for the median. */
export function quantile(values, fraction) {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  return below + (above - below) * (position % 1);
}

export function quartiles(values) {
  return {
    median: quantile(values, 0.5),
    lower: quantile(values, 0.25),
    upper: quantile(values, 0.75),
    rounds: values.length,
  };
}

/** Returns the value of a metric in each round of a cell, or undefined if the library lacks the metric. */
export function valuesOf(cell, library, metric) {
  const values = cell?.results[library]?.map((metrics) => metrics[metric]);
  return values?.every((value) => typeof value === "number") ? values : undefined;
}

/**
 * Divides the value of a library by the value of the base, for each round. Returns the median and the quartiles of
 * these ratios, or undefined if a value is missing or a divisor is 0.
 */
export function ratio(cell, library, base, metric) {
  const [values, baseValues] = [valuesOf(cell, library, metric), valuesOf(cell, base, metric)];
  if (values === undefined || baseValues === undefined || baseValues.includes(0)) return undefined;
  return quartiles(values.map((value, round) => value / baseValues[round]));
}
