// @ts-check
// Light, dark, or as the system says.
import { computed, effect, signal } from "./html.js";

const KEY = "onthedot.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(dark.matches);
dark.addEventListener("change", () => (systemDark.value = dark.matches));

/** "auto", "light" or "dark". */
export const theme = signal(read());

/** "light" or "dark": what is seen. */
export const shownTheme = computed(() =>
  theme.value === "auto" ? (systemDark.value ? "dark" : "light") : theme.value,
);

function read() {
  try {
    const kept = localStorage.getItem(KEY);
    return ["light", "dark"].includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}

effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

export function setTheme(next) {
  theme.value = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The choice lasts until the page is loaded again.
  }
}

/** Switch between light and dark. A choice that the system has too becomes "auto". */
export function toggleTheme() {
  const next = shownTheme.value === "dark" ? "light" : "dark";
  setTheme((next === "dark") === systemDark.value ? "auto" : next);
}
