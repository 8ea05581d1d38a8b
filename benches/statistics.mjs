// Medians and quartiles, and ratios round by round: what a busy machine does to one round it does to its neighbours, too.

/** The value below which this part of a list lies. */
export function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  return below + (above - below) * (place % 1);
}

export function spread(values) {
  return {
    median: quantile(values, 0.5),
    lower: quantile(values, 0.25),
    upper: quantile(values, 0.75),
    rounds: values.length,
  };
}

/** The values of a metric in a cell, round by round; undefined if the subject has none. */
export function valuesOf(cell, subject, metric) {
  const values = cell?.results[subject]?.map((metrics) => metrics[metric]);
  return values?.every((value) => typeof value === "number") ? values : undefined;
}

/** The median of what a subject has in each round over what the base has in the same; undefined without either, or over nothing. */
export function ratio(cell, subject, base, metric) {
  const [values, others] = [valuesOf(cell, subject, metric), valuesOf(cell, base, metric)];
  if (values === undefined || others === undefined || others.includes(0)) return undefined;
  return spread(values.map((value, round) => value / others[round]));
}
