// Small helpers: elements, what goes wrong, and what can be undone. All text goes in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

// `name`: what it is called by screen readers, where its label does not say it
export const button = (label, onclick, className = "", name = "") =>
  make("button", { type: "button", onclick, className, ...(name && { "aria-label": name }) }, label);
export const span = (text, className = "") => make("span", { className }, text);
export const item = (...children) =>
  make("li", {}, ...children.map((one) => (typeof one === "string" ? span(one) : one)));

// An element with text, which is not there without any
export function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = !text;
}

const drawn = new WeakMap();

// Draws an element's children anew where what they show has changed, so that the keyboard's place in them is not lost
export function fill(element, found, made, again = false) {
  const shown = JSON.stringify(found);
  if (drawn.get(element) === shown && !again) return;
  drawn.set(element, shown);
  const parts = () => [...element.querySelectorAll("button, input")], at = parts().indexOf(document.activeElement);
  element.replaceChildren(...found.map(made));
  if (at < 0) return;
  const left = parts();
  (left[Math.min(at, left.length - 1)] ?? $("question")).focus();
}

export function alertOf(error) {
  const close = button("Close", () => ($("alert").hidden = true));
  $("alert").replaceChildren(error.message ?? String(error), close);
  const open = document.querySelector("dialog[open]");  // above all else, and all else is out of reach
  open ? open.prepend($("alert")) : document.querySelector("header").after($("alert"));
  $("alert").hidden = false;
}

// Does something, and shows what goes wrong
export const quietly = (work) => (...given) => (async () => work(...given))().catch(alertOf);

// The same for what the reader does: what went wrong before has then been seen
export const doing = (work) => (...given) => {
  $("alert").hidden = true;
  return quietly(work)(...given);
};

const UNDO_MS = 8000;
let pending = null;

// Says what is removed, and removes it for good unless the reader undoes it within some seconds. `forGood` may run
// while the page goes away.
export function removable(what, undo, forGood) {
  settle();
  pending = { timer: setTimeout(settle, UNDO_MS), end: quietly(forGood) };
  $("undo").replaceChildren(span(`${what} is removed. `), button("Undo", () => {
    pending.end = undo;
    settle();
    document.querySelector("#documents button")?.focus();
  }));
  $("undo").hidden = false;
}

export function settle() {
  const { timer, end } = pending ?? {};
  clearTimeout(timer);
  pending = null;
  $("undo").hidden = true;
  end?.();
}
window.addEventListener("pagehide", settle);

export const megabytes = (n) => (n && n < 1e6 ? `${Math.max(1, Math.floor(n / 1e3))} kB` : n < 1e9 ? `${Math.round(n / 1e6)} MB` : `${(n / 1e9).toFixed(1)} GB`);
// Whether the cells of a column are figures
export const areFigures = (cells) => cells.some(Boolean) && cells.every((cell) => /^(?:[-–+(]?[£€$¥]?\s?\d[\d.,\s]*[%£€$¥]?\)?)?$/.test(cell ?? ""));
export const many = (n, noun) => `${n.toLocaleString()} ${noun}${n === 1 ? "" : "s"}`;
export const plain = (text) => text.split(/\s+/).join(" ");
export const percent = (share) => (share > 0 && share < 0.01 ? "under 1%" : `${Math.round(100 * share)}%`);

// Where something stands, as people say it
export function place(one) {
  const where = one.page != null ? `page ${one.page_label ?? one.page}${one.page_label && one.page_label !== String(one.page) ? ` (${one.page} in the file)` : ""}` : one.line ? `line ${one.line}` : "";
  const sure = one.confidence != null ? `recognised with ${one.confidence.toFixed(2)}` : "";
  return [where, one.section, one.rows ? `rows ${one.rows}` : one.row ? `row ${one.row}` : "", sure].filter(Boolean).join(", ");
}
