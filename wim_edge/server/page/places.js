// Ways to a place of the document on the desk: its contents, and words that are looked for in it.

import { $, button, item, quietly } from "./dom.js";
import { firstOf } from "./offsets.js";

const MOST = 10_000;  // places that are counted
const WAIT_MS = 150;
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
      else if (event.key === "Escape") $("find").blur();
    };
    $("hit-before").onclick = () => this.step(-1);
    $("hit-after").onclick = () => this.step(1);
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
    $("open-contents").hidden = sections.length < 2;
    if ($("contents").matches(":popover-open")) $("contents").hidePopover();
    $("sections").replaceChildren(...sections.map((one) => {
      const open = button(one.section, () => this.open(one), "link");
      return one.page === null ? item(open) : item(open, String(one.page));
    }));
  }

  open({ section, start }) {
    const { offsets } = this.desk.view, from = offsets.unit(start);
    const found = this.document.text.indexOf(section, from), at = found >= 0 && found <= from + BEFORE_TITLE ? found : from;
    $("contents").hidePopover();
    this.go([at, at + section.length], true);
  }

  // UTF-16 units
  go(units, focus) {
    quietly(() => this.desk.go(units.map((unit) => this.desk.view.offsets.char(unit)), undefined, focus))();
  }

  // Look for what was typed, without case, over the ends of lines and words that a PDF broke; the first place from here
  look() {
    clearTimeout(this.timer);
    const broken = this.document.pages == null ? "" : "(?:-\\n)?", words = $("find").value.trim().split(/\s+/);
    const source = words.map((word) => [...word].map(escaped).join(broken)).join("\\s+");
    this.hits = [];
    if (source) for (const { index, 0: found } of this.document.text.matchAll(new RegExp(source, "giu"))) {
      if (this.hits.push([index, index + found.length]) === MOST) break;
    }
    this.at = -1;
    if (!this.hits.length) return this.tell(source && "not there");
    const { offsets, top } = this.desk.view, here = offsets.unit(top);
    this.reveal(firstOf(this.hits.length, (one) => this.hits[one][0] >= here) % this.hits.length);
  }

  // Go on from the place last shown, around the end
  step(by) {
    if (this.at < 0) this.look();
    else this.reveal((this.at + by + this.hits.length) % this.hits.length);
  }

  reveal(at) {
    this.at = at;
    const { length } = this.hits, more = length === MOST ? " or more" : "";
    this.tell(`${(at + 1).toLocaleString()} of ${length.toLocaleString()}${more}`);
    this.go(this.hits[at], false);
  }

  tell(text) {
    $("hits").textContent = text;
    $("hit-before").hidden = $("hit-after").hidden = this.hits.length < 2;
  }
}

const escaped = (char) => char.replace(/[\\^$.*+?()[\]{}|\/]/u, "\\$&");
