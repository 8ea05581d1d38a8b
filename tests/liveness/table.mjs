// Creates the tables of the README and of docs/websocket-client.md from bounds.json.

import { alive, deaths, sockets } from "./bounds.mjs";

const BEGIN = "<!-- liveness:begin -->";
const END = "<!-- liveness:end -->";
const names = { chromium: "Chromium", firefox: "Firefox", webkit: "WebKit", node: "Node" };

/** The pages that have a table, and the rows of these tables. */
export const pages = [
  { page: "README.md", rows: deaths, others: alive },
  { page: "docs/websocket-client.md", rows: sockets, others: [] },
];

/** Returns the part of a page between its markers, or `undefined` if a marker is missing. */
export function tableIn(text) {
  const [start, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  return start < 0 || end < start ? undefined : text.slice(start + BEGIN.length, end).trim();
}

/** Returns the text of a page in which `table` replaces the former table. */
export function withTable(text, table) {
  if (tableIn(text) === undefined) throw new Error(`the page must have the lines ${BEGIN} and ${END}`);
  const start = text.indexOf(BEGIN) + BEGIN.length;
  return `${text.slice(0, start)}\n${table}\n${text.slice(text.indexOf(END))}`;
}

const seconds = (ms) => `${ms / 1000} s`;
/** Returns the bound of a row. The text is empty if the call does not end, or if only its timeout ends it. */
const bound = ({ within, reason, since = "" }) =>
  within === undefined || reason === "timeout" ? "" : `${seconds(within)} ${since}`.trim();

/** Returns the lines about events that an engine cannot measure. Returns no lines if there are no such events. */
function gaps(all) {
  const rows = all.filter(({ not }) => not !== undefined);
  if (rows.length === 0) return [];
  const parts = Object.entries(names).flatMap(([engine, name]) => {
    const missing = rows.filter(({ not }) => engine in not).map(({ what }) => what);
    return missing.length > 0 ? [`${name}: ${missing.join("; ")}.`] : [];
  });
  return [`Not measured, because the engine or its driver does not support the event. ${parts.join(" ")}`, ""];
}

/** Returns the Markdown of the table, and of the differences between engines below it. */
export function table({ rows: deaths, others }) {
  const notes = [];
  const rows = deaths.map(({ what, within, since, reason, outcome = `\`${reason}\``, sign = "", differs = {} }) => {
    const marks = Object.entries(differs).map(([engine, other]) => {
      const { within: limit = within, reason: ends = reason, because, note } = other;
      const which = other.kinds === undefined ? "" : ` (${other.kinds.join("; ")})`;
      notes.push(`${names[engine]}${which}: ${note ?? `\`${ends}\` within ${seconds(limit)}, because ${because}.`}`);
      return `<sup>${notes.length}</sup>`;
    });
    const cells = [`${what}${marks.join(" ")}`, outcome, sign, bound({ within, reason, since })];
    return `| ${cells.join(" | ")} |`;
  });
  const lines = [
    "| event | `reason` | detected by | within |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
    ...gaps([...deaths, ...others]),
    ...(notes.length > 0 ? ["Differences between engines:", ""] : []),
    ...notes.map((text, index) => `<sup>${index + 1}</sup> ${text}<br>`),
  ];
  return lines.join("\n").replace(/<br>$/, "").trim();
}
