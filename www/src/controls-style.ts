import { css } from "lit";

/** The styles that all components share: buttons, fields, pane headers, the focus ring. */
export const controls = css`
  :host,
  :host * {
    box-sizing: border-box;
  }

  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }

  button {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 6px;
    min-height: 28px;
    padding: 0 10px;
    font: inherit;
    color: var(--text);
    background: none;
    border: 1px solid transparent;
    border-radius: 6px;
    cursor: pointer;
  }

  button:hover:not(:disabled) {
    background: var(--hover);
  }

  button:disabled {
    color: var(--line-strong);
    cursor: default;
  }

  button.icon {
    width: 28px;
    padding: 0;
    color: var(--muted);
  }

  button.icon:hover:not(:disabled) {
    color: var(--text);
  }

  button.icon:disabled {
    color: var(--line-strong);
  }

  button.bordered {
    background: var(--surface);
    border-color: var(--line);
    box-shadow: var(--shadow);
  }

  button.primary {
    color: var(--on-accent);
    background: var(--accent);
  }

  button.primary:hover {
    background: color-mix(in srgb, var(--accent) 88%, var(--text));
  }

  input,
  select {
    min-height: 28px;
    padding: 0 8px;
    font: inherit;
    color: var(--text);
    background: var(--surface);
    border: 1px solid var(--line);
    border-radius: 6px;
  }

  input::placeholder {
    color: var(--muted);
    opacity: 1;
  }

  svg {
    flex: none;
  }

  .bar {
    display: flex;
    align-items: center;
    gap: 6px;
    height: 38px;
    padding: 0 8px;
    flex: none;
    border-bottom: 1px solid var(--line);
    background: var(--raised);
  }

  .spacer {
    flex: 1;
  }

  .muted {
    color: var(--muted);
  }

  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
  }
`;
