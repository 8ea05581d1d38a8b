import { css } from "lit";

/** The styles that the panes of the inspector share, in addition to `controls`. */
export const paneStyles = css`
  :host {
    display: flex;
    flex-direction: column;
    min-width: 0;
    min-height: 0;
    background: var(--surface);
  }

  h2 {
    margin: 0;
    font-size: 13px;
    font-weight: 600;
  }

  h3 {
    margin: 0;
    font-size: 12px;
    font-weight: 600;
    color: var(--muted);
  }

  .scroll {
    flex: 1;
    min-height: 0;
    overflow: auto;
  }

  .mono {
    font-family: var(--mono);
    font-size: 12px;
  }

  .empty {
    padding: 14px 12px;
    margin: 0;
    color: var(--muted);
  }

  .error {
    color: var(--error);
  }

  .warn {
    color: var(--warn);
  }

  .badge {
    padding: 0 6px;
    font-size: 11px;
    line-height: 17px;
    color: var(--muted);
    background: var(--hover);
    border-radius: 9px;
    white-space: nowrap;
  }

  .badge.error {
    color: var(--error);
    background: var(--error-bg);
  }

  .badge.warn {
    color: var(--warn);
    background: var(--warn-bg);
  }

  /* The bar of a pane inside another page. */
  .bar.low {
    height: 30px;
    padding: 0 4px;
  }

  [role="tablist"] {
    display: flex;
    align-self: stretch;
    gap: 2px;
    min-width: 0;
  }

  [role="tab"] {
    height: 100%;
    padding: 0 8px;
    border: 0;
    border-bottom: 2px solid transparent;
    border-radius: 0;
    color: var(--muted);
    white-space: nowrap;
  }

  [role="tab"][aria-selected="true"] {
    color: var(--text);
    font-weight: 600;
    border-bottom-color: var(--accent);
  }

  [role="tab"]:focus-visible {
    outline-offset: -3px;
  }

  .bar.low [role="tab"] {
    padding: 0 5px;
    font-size: 12px;
  }

  button.primary:disabled {
    color: var(--muted);
    background: var(--hover);
  }

  button.small {
    min-height: 24px;
    padding: 0 7px;
    font-size: 12px;
  }

  button[aria-pressed="true"] {
    color: var(--text);
    background: var(--selected);
  }

  table {
    width: 100%;
    border-collapse: collapse;
    font-size: 12px;
  }

  th,
  td {
    height: 24px;
    padding: 0 10px;
    text-align: left;
    font-weight: 400;
    white-space: nowrap;
  }

  thead th {
    position: sticky;
    top: 0;
    color: var(--muted);
    background: var(--surface);
    border-bottom: 1px solid var(--line);
  }

  .number {
    text-align: right;
    font-variant-numeric: tabular-nums;
  }

  [hidden] {
    display: none !important;
  }
`;
