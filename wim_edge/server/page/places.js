// Ways to a place of the document on the desk: its contents, and words that are looked for in it.

import { $, button, item, quietly } from "./dom.js";
import { firstOf } from "./offsets.js";

const MOST = 10_000, WAIT_MS = 50;  // places that are counted; before it looks for what is typed
const BEFORE_TITLE = 20;  // characters of a heading that are no part of its title: its number, the signs of Markdown

export class Places {
  constructor(desk) {
    Object.assign(this, { desk, hits: [], at: -1 });
    $("find").oninput = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), WAIT_MS);
    };
    $("find").onkeydown = (event) => {
      if (event.key === "Enter" && !event.isComposing) this.step(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") {
        event.preventDefault();
        $("find").value = "";
        this.look();
        this.desk.view.element.focus({ preventScroll: true });
      }
    };
    $("hit-before").onclick = () => this.step(-1);
    $("hit-after").onclick = () => this.step(1);
    const drawn = new MutationObserver(() => this.tint());
    for (const id of ["text", "sheets"]) drawn.observe($(id), { childList: true, subtree: true });
  }

  // The document on the desk is another one
  show(document) {
    if (document === this.document) return;
    this.document = document;
    $("find").value = "";
    this.look();
    const sections = [];
    let page = null;
    for (const one of document.marks ?? []) {
      page = one.page ?? page;
      if (one.section && one.section !== sections.at(-1)?.section) sections.push({ ...one, page });
    }
    $("contents").ontoggle = () => this.stand();
    $("open-contents").hidden = sections.length < 2;
    if ($("contents").matches(":popover-open")) $("contents").hidePopover();
    $("sections").replaceChildren(...sections.map((one) => {
      const open = button(one.section, () => this.open(one), "link"), made = one.page === null ? item(open) : item(open, String(one.page));
      made.style.paddingInlineStart = `${this.level(one)}rem`;
      return made;
    }));
  }

  // How deep a section lies, by Markdown's signs or its number ("2.1")
  level({ section, start }) {
    const from = this.desk.view.offsets.unit(start), signs = /^#*/.exec(this.document.text.slice(from, from + 6))[0].length;
    return signs ? signs - 1 : Math.max(0, (/^\d+(?:\.\d+)*/.exec(this.document.text.slice(from, from + BEFORE_TITLE))?.[0].split(".").length ?? 1) - 1);
  }

  // The list opens below its button
  stand() {
    const { bottom, left } = $("open-contents").getBoundingClientRect();
    $("contents").style.cssText = `top: ${bottom + 4}px; left: ${Math.max(4, Math.min(left, innerWidth - $("contents").offsetWidth - 4))}px`;
  }

  open({ section, start }) {
    const { offsets } = this.desk.view, from = offsets.unit(start);
    const found = this.document.text.indexOf(section, from), at = found >= 0 && found <= from + BEFORE_TITLE ? found : from;
    $("contents").hidePopover();
    this.go([at, at + section.length], true);
  }

  // UTF-16 units
  go(units, focus) {
    quietly(() => this.desk.go([units.map((unit) => this.desk.view.offsets.char(unit))], focus))();
  }

  // Look for what was typed, without case, over the ends of lines and of cells; the first place from here
  look() {
    this.timer = clearTimeout(this.timer);
    const words = $("find").value.trim().split(/[\s|]+/), source = words.map((word) => [...word].map(alike).join("")).join("[\\s|]+");
    this.hits = [];
    if (source) for (const { index, 0: found } of this.document.text.matchAll(new RegExp(source, "giu"))) {
      if (this.hits.push([index, index + found.length]) === MOST) break;
    }
    this.at = -1;
    this.tint();
    if (!this.hits.length) {
      this.desk.unmark();
      return this.tell(source && ($("tabs").hidden ? "No matches" : "No matches here"));
    }
    const { offsets, top } = this.desk.view, here = offsets.unit(top);
    this.reveal(firstOf(this.hits.length, (one) => this.hits[one][0] >= here) % this.hits.length);
  }

  // Go on from the place last shown, around the end; what was typed just now is looked for before, not after
  step(by) {
    if (this.timer) this.look();
    if (this.hits.length) this.reveal((this.at + by + this.hits.length) % this.hits.length);
  }

  reveal(at) {
    this.at = at;
    const { length } = this.hits, more = length === MOST ? " or more" : "";
    this.tell(`${(at + 1).toLocaleString()} of ${length.toLocaleString()}${more}`);
    this.go(this.hits[at], false);
  }

  // Tint each place that is drawn; the one that is marked alone where all of its row is
  tint() {
    if (!window.Highlight) return;
    const found = new Highlight(), { hits } = this;
    CSS.highlights.set("found", found);
    if (hits.length) for (const [node, start] of this.desk.view.nodes()) {
      const end = start + node.length;
      for (let at = firstOf(hits.length, (one) => hits[one][1] > start); at < hits.length && hits[at][0] < end; at++) {
        const from = Math.max(0, hits[at][0] - start), to = Math.min(node.length, hits[at][1] - start);
        if (at !== this.at || node.parentElement.closest(".row")) found.add(new StaticRange({ startContainer: node, startOffset: from, endContainer: node, endOffset: to }));
      }
    }
  }

  tell(text) {
    $("hits").textContent = text;
    $("hit-before").hidden = $("hit-after").hidden = this.hits.length < 2;
  }
}

// A character as an expression: quotation marks and dashes stand for all of their kind
const KINDS = ["\"“”„«»", "'‘’‚", "-‐‑–—−"];
const alike = (char) => {
  const kind = KINDS.find((one) => one.includes(char));
  return kind ? `[${kind.replace("-", "\\-")}]` : char.replace(/[\\^$.*+?()[\]{}|\/]/u, "\\$&");
};
