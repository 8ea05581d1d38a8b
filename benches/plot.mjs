// Draws the plot of the README. The plot shows the time of a call, divided by the time in which `postMessage` sends a
// number to the server and back.

import { libraries, workloads } from "./matrix.mjs";
import { ratio } from "./statistics.mjs";

const PANELS = ["sequential", "concurrent-10k", "notifications"];
// All sizes are in units of the SVG.
/** The height of a row. */
const ROW = 20;
/** The width of the labels of the rows. */
const LABEL = 170;
/** The width of the plot. */
const WIDTH = 800;
/** The width of the longest bar. */
const BAR = 150;
/** The height of the titles. */
const TOP = 48;
/** The width of the gap between two panels. */
const GAP = 52;

/** Returns an SVG for light and dark pages, or undefined if a panel was not measured. */
export function plot(cells) {
  const panels = PANELS.map((id) => cells.find(({ workload, boundary }) => workload === id && boundary === "worker"));
  if (panels.includes(undefined)) return undefined;
  const rows = libraries.filter(({ id }) => panels.some(({ results }) => id in results));
  const height = TOP + rows.length * ROW + 12;
  const labels = rows.map(({ title, own }, row) =>
    textElement(LABEL - 8, baselineOf(row), title, `end${own ? " own" : ""}`),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>The time of a call to a Worker, as a multiple of the round trip of a number by postMessage. Less is better.</title>`,
    `<style>
      text { font: 12px system-ui, sans-serif; fill: #57606a; }
      .end { text-anchor: end; } .own { font-weight: 600; fill: #0969da; } .head { font-weight: 600; }
      rect { fill: #8c959f; } rect.own { fill: #0969da; } line { stroke: #8c959f; stroke-dasharray: 2 3; }
      @media (prefers-color-scheme: dark) {
        text { fill: #b1bac4; } .own { fill: #58a6ff; } rect { fill: #6e7681; } rect.own { fill: #58a6ff; }
      }
    </style>`,
    ...labels,
    ...panels.map((cell, column) => panel(cell, rows, LABEL + column * (BAR + GAP), height)),
    `</svg>\n`,
  ].join("\n");
}

function panel(cell, rows, left, height) {
  const { title } = workloads.find(({ id }) => id === cell.workload);
  const ratios = rows.map(({ id }) => ratio(cell, id, "postmessage", "us")?.median);
  const scale = BAR / Math.max(...ratios.filter((value) => value !== undefined));
  const bars = rows.flatMap(({ own }, row) => {
    const value = ratios[row];
    if (value === undefined) return [];
    const width = Math.max(1, value * scale);
    const kind = own ? "own" : "";
    const bar = `<rect class="${kind}" x="${left}" y="${TOP + row * ROW + 3}" width="${width.toFixed(1)}" height="${ROW - 6}" rx="2"/>`;
    return [bar, textElement(left + width + 5, baselineOf(row), value.toFixed(2), kind)];
  });
  // A dashed line marks the ratio 1.
  const xOfOne = (left + scale).toFixed(1);
  return [
    textElement(left, 16, title, "head"),
    textElement(left, 34, "x postMessage"),
    `<line x1="${xOfOne}" x2="${xOfOne}" y1="${TOP - 4}" y2="${height - 8}"/>`,
    ...bars,
  ].join("\n");
}

const baselineOf = (row) => TOP + row * ROW + 14;

function textElement(x, y, words, kind = "") {
  const escaped = words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<text x="${x.toFixed(1)}" y="${y}" class="${kind}">${escaped}</text>`;
}
