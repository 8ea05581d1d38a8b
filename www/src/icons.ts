import { html, type TemplateResult } from "lit";

function icon(path: string, size = 16): TemplateResult {
  return html`<svg width=${size} height=${size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5"
    stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${path}></path></svg>`;
}

export const back = icon("M10 3 5 8l5 5");
export const forward = icon("m6 3 5 5-5 5");
export const refresh = icon("M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3");
export const plus = icon("M8 3v10M3 8h10");
export const trash = icon("M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.6 9h5.8l.6-9");
export const play = icon("M5 3.2v9.6L12.5 8Z");
export const pause = icon("M5.5 3.5v9M10.5 3.5v9");
export const clear = icon("M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM4.3 4.3l7.4 7.4");
export const sun = icon(
  "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6ZM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
);
export const moon = icon("M13 9.6A5.5 5.5 0 1 1 6.4 3 4.5 4.5 0 0 0 13 9.6Z");
export const restore = icon("M3 8a5 5 0 1 0 1.6-3.7M3 2v3h3");
export const file = icon("M4 1.8h5L12.5 5v9.2H4ZM9 1.8V5h3.5", 15);
export const folder = icon("M1.8 12.8V3.5h4.4l1.3 1.6h6.7v7.7Z", 15);
export const alert = icon("M8 2 14.5 13.5h-13ZM8 6.5v3M8 11.6v.1");
