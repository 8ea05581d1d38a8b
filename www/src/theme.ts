import { Store } from "./store";

export type Theme = "light" | "dark";

const KEY = "portway-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const saved = localStorage.getItem(KEY);

/** The current theme, which follows the system until the user chooses a theme. */
export const theme = new Store<Theme>(saved === "light" || saved === "dark" ? saved : systemTheme());

export function toggleTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, next);
  theme.set(next);
}

function systemTheme(): Theme {
  return system.matches ? "dark" : "light";
}

function apply(value: Theme): void {
  document.documentElement.dataset.theme = value;
}

theme.subscribe(apply);
apply(theme.value);
system.addEventListener("change", () => {
  if (localStorage.getItem(KEY) === null) theme.set(systemTheme());
});
