// Creates the table of the README from bounds.json.

import { alive, deaths } from "./bounds.mjs";

const BEGIN = "<!-- liveness:begin -->";
const END = "<!-- liveness:end -->";
const names = { chromium: "Chromium", firefox: "Firefox", webkit: "WebKit", node: "Node" };

/** Returns the part of the README between its markers, or `undefined` if a marker is missing. */
export function tableIn(readme) {
  const [start, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  return start < 0 || end < start ? undefined : readme.slice(start + BEGIN.length, end).trim();
}

/** Returns the README in which `table` replaces the former table. */
export function withTable(readme, table) {
  if (tableIn(readme) === undefined) throw new Error(`README.md has no ${BEGIN} and ${END}`);
  const start = readme.indexOf(BEGIN) + BEGIN.length;
  return `${readme.slice(0, start)}\n${table}\n${readme.slice(readme.indexOf(END))}`;
}

const seconds = (ms) => `${ms / 1000} s`;
/** Returns the bound of a row. The text is empty if only the timeout of a call ends the call. */
const bound = ({ within, reason }) => (reason === "timeout" ? "" : seconds(within));

/** Returns sentences about the events that an engine does not measure. */
function gaps() {
  const rows = [...deaths, ...alive].filter(({ not }) => not !== undefined);
  const parts = Object.entries(names).flatMap(([engine, name]) => {
    const missing = rows.filter(({ not }) => engine in not).map(({ what }) => what);
    return missing.length > 0 ? [`${name}: ${missing.join("; ")}.`] : [];
  });
  return `Not measured, because the engine or its driver does not support the event. ${parts.join(" ")}`;
}

/** Returns the Markdown of the table, and of the differences between engines below it. */
export function table() {
  const notes = [];
  const rows = deaths.map(({ what, within, reason, sign, differs = {} }) => {
    const marks = Object.entries(differs).map(([engine, other]) => {
      const { within: limit = within, reason: ends = reason, because } = other;
      const which = other.kinds === undefined ? "" : ` (${other.kinds.join("; ")})`;
      notes.push(`${names[engine]}${which}: \`${ends}\` within ${seconds(limit)}, because ${because}.`);
      return `<sup>${notes.length}</sup>`;
    });
    return `| ${what}${marks.join(" ")} | \`${reason}\` | ${sign} | ${bound({ within, reason })} |`;
  });
  const lines = [
    "| event | `reason` | detected by | within |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
    gaps(),
    "",
    ...(notes.length > 0 ? ["Differences between engines:", ""] : []),
    ...notes.map((text, index) => `<sup>${index + 1}</sup> ${text}<br>`),
  ];
  return lines.join("\n").replace(/<br>$/, "").trim();
}
