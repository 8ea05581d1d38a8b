// Starts Chromium for the checks of the examples, of the packages and of the playground.

import { chromium } from "playwright-core";

export const executablePath = process.env.PORTWAY_CHROMIUM ?? "/usr/bin/chromium";

export const args = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

export function launch() {
  return chromium.launch({ executablePath, args });
}
