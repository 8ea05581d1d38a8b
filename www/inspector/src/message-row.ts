import { css, html, type TemplateResult } from "lit";
import type { ListHeader, ListRow, Row } from "portway-inspector";
import { bytes, clock, duration, plural, visible } from "./format";
import { endOfValue } from "./json-text";
import type { Model } from "./model";

/** The maximum length of the part of a text that a row shows, in UTF-16 units. */
const EXCERPT = 420;

export const rowStyles = css`
  .row {
    position: absolute;
    inset: 0 0 auto;
    padding: 6px 12px 0;
    overflow: hidden;
    font: 12px/18px var(--mono);
    border-bottom: 1px solid var(--line);
    border-left: 3px solid transparent;
    contain: strict;
    cursor: default;
  }

  .row.header {
    display: flex;
    align-items: center;
    padding-top: 0;
    font: 600 11px/1 var(--sans);
    color: var(--muted);
    background: var(--raised);
  }

  .row:not(.header):hover {
    background: var(--hover);
  }

  .row[aria-selected="true"],
  .row[aria-selected="true"]:hover {
    background: color-mix(in srgb, var(--selected) 75%, var(--surface));
    border-left-color: var(--accent);
  }

  .first {
    display: flex;
    gap: 8px;
    align-items: baseline;
    white-space: nowrap;
  }

  .first > * {
    flex: none;
  }

  .first .method {
    flex: 0 1 auto;
    min-width: 30px;
    overflow: hidden;
    font-weight: 600;
    text-overflow: ellipsis;
  }

  .first .id {
    max-width: 18ch;
    overflow: hidden;
    text-overflow: ellipsis;
  }

  .direction {
    width: 14px;
    text-align: center;
  }

  .direction[data-direction="sent"] {
    color: var(--syn-tag);
  }

  .direction[data-direction="received"] {
    color: var(--ok);
  }

  .kind[data-kind="request"] {
    color: var(--syn-tag);
  }

  .kind[data-kind="result"],
  .kind[data-kind="open"] {
    color: var(--ok);
  }

  .kind[data-kind="notification"],
  .kind[data-kind="batch"] {
    color: var(--syn-keyword);
  }

  .kind:is([data-kind="error"], [data-kind="invalid"]) {
    color: var(--error);
  }

  .kind:is([data-kind="cut"], [data-kind="gap"]) {
    color: var(--warn);
  }

  .excerpt {
    margin-left: 22px;
    overflow: hidden;
    color: var(--muted);
    overflow-wrap: anywhere;
    /* The text of a peer does not change the direction of the row. */
    unicode-bidi: isolate;
  }

  .row[aria-selected="true"] .excerpt {
    color: var(--text);
  }

  .quiet {
    color: var(--muted);
  }

  .marks {
    display: inline-flex;
    gap: 5px;
    font-family: var(--sans);
  }

  .push {
    margin-left: auto;
  }
`;

/** Returns the template of one row of the list: the header of a time bucket, or a message. */
export function rowTemplate(row: ListRow, model: Model, selected: number | null, isCompact: boolean): TemplateResult {
  const place = `height: ${row.height}px; transform: translateY(${row.top}px)`;
  if (row.type === "header") return headerTemplate(row, place);
  return html`<div class="row" role="option" id="row-${row.seq}" data-seq=${row.seq} aria-selected=${row.seq === selected}
    .style=${place}>
    ${firstLine(row, model)}
    ${isCompact ? "" : html`<div class="excerpt" dir="ltr" .style=${`height: ${Math.max(18, Math.floor((row.height - 30) / 18) * 18)}px`}>${excerptOf(row, model)}</div>`}
  </div>`;
}

function headerTemplate(row: ListHeader, place: string): TemplateResult {
  return html`<div class="row header" role="option" aria-disabled="true" aria-selected="false" .style=${place}>
    ${row.bucket.replace("-", "–").replace("s", " s")} after the first message
  </div>`;
}

function firstLine(row: Row, model: Model): TemplateResult {
  const isSent = row.direction === "sent";
  return html`<div class="first">
    <span class="direction" data-direction=${row.direction ?? ""} role="img" aria-label=${row.direction ?? "link"}>${row.direction ? (isSent ? "→" : "←") : "•"}</span>
    <span class="kind" data-kind=${row.kind}>${row.kind}</span>
    ${row.method === null ? "" : html`<span class="method">${visible(row.method)}</span>`}
    ${row.id === null ? "" : html`<span class="id quiet">${visible(row.id)}</span>`}
    ${row.kind === "batch" ? html`<span class="quiet">${plural(row.items, "message")}</span>` : ""}
    ${row.code === null ? "" : html`<span class="quiet">${row.code}</span>`}
    ${marks(row)}
    <span class="push quiet">${row.elapsed === null ? "" : duration(row.elapsed)}</span>
    <span class="quiet">${row.size === null ? "" : bytes(row.size)}</span>
    <span class="quiet">${clock(row.at)}</span>
    ${linkName(row, model)}
  </div>`;
}

function marks(row: Row): TemplateResult {
  return html`<span class="marks">
    ${row.calls === "pending" ? html`<span class="badge warn">pending</span>` : ""}
    ${row.calls === "ended" ? html`<span class="badge error">no response</span>` : ""}
    ${row.unmatched ? html`<span class="badge error">no call waited</span>` : ""}
    ${row.hasErrors && !row.unmatched ? html`<span class="badge error">fault</span>` : ""}
    ${row.hasWarnings && row.kind !== "notification" ? html`<span class="badge warn">warning</span>` : ""}
    ${row.isCut ? html`<span class="badge warn">cut</span>` : ""}
    ${row.direction && !row.hasText && row.kind !== "gap" ? html`<span class="badge">text dropped</span>` : ""}
  </span>`;
}

function linkName(row: Row, model: Model): TemplateResult | string {
  const names = model.linkNames();
  return names.length > 1 ? html`<span class="quiet">${visible((names[row.link] ?? "").slice(0, 24))}</span>` : "";
}

/** Returns the beginning of the params, the result or the error, or of the whole text if there is none of them. */
function excerptOf(row: Row, model: Model): string {
  const record = model.recordOf(row.seq);
  if (!record) return "";
  if (row.kind === "gap") return `the tap did not record ${plural(record.messages ?? row.items, "message")}`;
  if (row.kind === "open") return visible([record.name, record.transport].filter(Boolean).join(", "));
  if (row.kind === "close") return visible((record.reason ?? "").slice(0, EXCERPT));
  if (record.text === undefined)
    return record.base64 === undefined ? "" : `bytes that are not UTF-8: ${record.base64.slice(0, EXCERPT)}`;
  // The text is masked before its beginning is removed, because a secret is recognised by the name before the secret.
  const text = model.shown(record.text.slice(0, EXCERPT * 2));
  const from = row.kind === "batch" || row.kind === "invalid" ? 0 : payloadAt(text);
  const end = from ? endOfValue(text, from) : text.length;
  return visible(text.slice(from, Math.min(end, from + EXCERPT)));
}

function payloadAt(text: string): number {
  const match = /"(?:params|result|error)"\s*:\s*/.exec(text.slice(0, EXCERPT));
  return match ? match.index + match[0].length : 0;
}
