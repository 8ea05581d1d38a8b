// The table of the README, made from outcomes: rows in which the libraries differ; what all of them do goes into a
// sentence below.

import { notes } from "./notes.mjs";

const BEGIN = "<!-- comparison:begin -->";
const END = "<!-- comparison:end -->";

/** The part of the README between its markers, or undefined without them. */
export function tableIn(readme) {
  const [start, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  return start < 0 || end < start ? undefined : readme.slice(start + BEGIN.length, end).trim();
}

/** The README with another table. */
export function withTable(readme, table) {
  const start = readme.indexOf(BEGIN) + BEGIN.length;
  return `${readme.slice(0, start)}\n${table}\n${readme.slice(readme.indexOf(END))}`;
}

/**
 * The Markdown of the table.
 *
 * @param columns `{ module, title }` of each library; of `outcomes`, `says` by behaviour and module is what counts.
 */
export function table(behaviours, columns, outcomes) {
  const footnotes = [];
  const mark = (id, module) => {
    const text = notes[id]?.[module];
    if (text === undefined) return "";
    if (!footnotes.includes(text)) footnotes.push(text);
    return `<sup>${footnotes.indexOf(text) + 1}</sup>`;
  };
  const cells = (row) => `| ${row.join(" | ")} |`;
  const said = (id) => columns.map(({ module }) => outcomes[id][module].says);
  const alike = behaviours.filter(({ id }) => said(id).every((says) => says === "yes"));
  const rows = behaviours.filter((behaviour) => !alike.includes(behaviour)).map(({ id, text }) => {
    const values = said(id).map((says, index) => says + mark(id, columns[index].module));
    return cells([text + mark(id, "*"), ...values]);
  });
  const lines = [
    cells(["", ...columns.map(({ title }) => title)]),
    cells(["---", ...columns.map(() => "---")]),
    ...rows,
    "",
    `All of them alike: ${alike.map(({ text }) => text.replace(/^[A-Z]/, (first) => first.toLowerCase())).join("; ")}.`,
    "",
    ...footnotes.map((text, index) => `<sup>${index + 1}</sup> ${text}<br>`),
  ];
  return lines.join("\n").replace(/<br>$/, "");
}
