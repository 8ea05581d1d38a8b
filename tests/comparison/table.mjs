// Creates the tables of the README from outcomes. A row is a behaviour in which the libraries differ. A sentence below
// the table names the behaviours that all libraries have.

const BEGIN = (name) => `<!-- ${name}:begin -->`;
const END = (name) => `<!-- ${name}:end -->`;

/** Returns the part of the README between the markers of this name, or `undefined` if a marker is missing. */
export function tableIn(readme, name) {
  const [start, end] = [readme.indexOf(BEGIN(name)), readme.indexOf(END(name))];
  return start < 0 || end < start ? undefined : readme.slice(start + BEGIN(name).length, end).trim();
}

/** Returns the README in which `table` replaces the table of this name. */
export function withTable(readme, name, table) {
  const start = readme.indexOf(BEGIN(name)) + BEGIN(name).length;
  return `${readme.slice(0, start)}\n${table}\n${readme.slice(readme.indexOf(END(name)))}`;
}

/**
 * Returns the Markdown of a table.
 *
 * @param columns `{ module, title }` of each library
 * @param outcomes the results of the comparison. `outcomes[behaviour.id][module].says` is the text of a cell
 * @param notes the footnotes by behaviour and module. An asterisk as the module marks the footnote of a row. An
 * asterisk as the behaviour marks the footnote of a column
 */
export function table(behaviours, columns, outcomes, notes) {
  const footnotes = [];
  const mark = (id, module) => {
    const text = notes[id]?.[module];
    if (text === undefined) return "";
    if (!footnotes.includes(text)) footnotes.push(text);
    return `<sup>${footnotes.indexOf(text) + 1}</sup>`;
  };
  const cells = (row) => `| ${row.join(" | ")} |`;
  const outcomesOf = (id) => columns.map(({ module }) => outcomes[id][module].says);
  // The titles are created before the rows, so that the footnotes of the titles have the first numbers.
  const titles = cells(["", ...columns.map(({ module, title }) => title + mark("*", module))]);
  const commonBehaviours = behaviours.filter(({ id }) => outcomesOf(id).every((says) => says === "yes"));
  const rows = behaviours
    .filter((behaviour) => !commonBehaviours.includes(behaviour))
    .map(({ id, text }) => {
      const values = outcomesOf(id).map((says, index) => says + mark(id, columns[index].module));
      return cells([text + mark(id, "*"), ...values]);
    });
  const lines = [
    titles,
    cells(["---", ...columns.map(() => "---")]),
    ...rows,
    "",
    ...(commonBehaviours.length > 0
      ? [`Equal in all libraries: ${commonBehaviours.map(lowercased).join("; ")}.`, ""]
      : []),
    ...footnotes.map((text, index) => `<sup>${index + 1}</sup> ${text}<br>`),
  ];
  return lines.join("\n").replace(/<br>$/, "");
}

const lowercased = ({ text }) => text.replace(/^[A-Z]/, (first) => first.toLowerCase());
