// The document on the desk, as text or as its own pages. Both views have the same methods.

import { $ } from "./dom.js";
import { Pages } from "./pages.js";
import { Reader } from "./reader.js";

export class Desk {
  // `turned` is called where the reader wishes to see the other view
  constructor(turned) {
    Object.assign(this, { text: new Reader($("text")), pages: new Pages($("sheets")), seen: 0, asText: false, zoom: 1 });
    this.view = this.text;
    $("as-pages").onclick = $("as-text").onclick = ({ target }) => {
      this.asText = target === $("as-text");
      turned();
    };
    $("closer").onclick = () => this.zoomed(1.25);
    $("farther").onclick = () => this.zoomed(0.8);
    $("page").onchange = () => (this.pages.page = Number($("page").value));
    $("sheets").onscroll = () => ($("page").value = this.pages.page);
    // Where one reads stays where it is, however wide the pane becomes; not if that came with going to a place
    for (const id of ["sheets", "text"]) $(id).addEventListener("scroll", () => (this.seen = this.document?.text ? this.view.top : 0), { passive: true });
    new ResizeObserver(() => this.seen && !(performance.now() - this.went < 500) && (this.view.top = this.seen)).observe($("reader"));
  }

  // `document.sheets` are its pages, where they can be shown
  show(document) {
    const isSame = Boolean(document.text) && this.document?.text === document.text;
    const top = !isSame ? 0 : this.view.element.clientHeight ? this.view.top : this.seen;
    if (!isSame) this.at = this.missed = null;  // what is marked
    this.seen = top;
    this.document = document;
    this.anew = false;
    const asPages = Boolean(document.sheets) && !this.asText;
    $("views").hidden = !document.sheets;
    $("sheets").hidden = $("paging").hidden = !($("text").hidden = asPages);
    for (const id of ["as-pages", "as-text"]) $(id).setAttribute("aria-pressed", asPages === (id === "as-pages"));
    $("pages-of").textContent = `of ${document.sheets?.length}`;
    (this.view = asPages ? this.pages : this.text).show(document);
    this.view.element.scrollTop = 0;
    if (top) this.view.top = top;
    $("page").value = asPages && this.pages.element.clientHeight ? this.pages.page : 1;
  }

  // Nothing is marked any more
  unmark() {
    this.at = null;
    this.view.mark([]);
  }

  // What was gone to while the pane was not seen
  async seenAgain() {
    if (this.missed && this.view.element.clientHeight) await this.go(this.at, false);
  }

  zoomed(by) {
    const { top } = this.pages;
    this.zoom = Math.min(4, Math.max(0.5, this.zoom * by));
    $("sheets").style.setProperty("--zoom", this.zoom);
    this.pages.top = top;
    this.pages.redraw();
  }

  read(event) {
    if (this.anew) this.show(this.document);  // a question answered again without reading keeps all
    if (!this.view.segments.has(event.segment)) this.view.read(event);
  }

  // Scroll to the first of several spans of characters, and mark exactly these
  async go(spans, focus) {
    Object.assign(this, { at: spans, missed: !this.view.element.clientHeight, went: performance.now() });
    await this.view.go(spans, focus);
  }
}
