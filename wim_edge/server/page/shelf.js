// The shelf: the documents there are, which of them are asked, and how they come and go.

import { api } from "./api.js";
import { $, alertOf, button, doing, item, list, make, removable, span } from "./dom.js";

export class Shelf {
  // `open(id)` shows a document, `removed(id)` says that it is gone
  constructor({ open, removed }) {
    Object.assign(this, { open, removed, documents: [], chosen: new Set(), going: new Set(), here: null });
    $("search").oninput = () => this.draw();
    $("file").onchange = doing(async () => {
      const files = [...$("file").files];
      $("file").value = "";  // the same file may be chosen again
      await this.upload(files);
    });
    $("named").onsubmit = (event) => {
      event.preventDefault();
      doing(async () => this.added(await api("documents/named", { method: "POST", body: { path: $("path").value } })))();
    };
    for (const type of ["dragover", "dragleave", "drop"]) {
      document.addEventListener(type, (event) => {
        event.preventDefault();
        $("drop").classList.toggle("over", type === "dragover");
        if (type === "drop") doing((files) => this.upload(files))([...event.dataTransfer.files]);
      });
    }
  }

  async refresh() {
    this.documents = await api("documents");
    for (const id of this.chosen) if (!this.get(id)) this.chosen.delete(id);
    this.draw();
    if (this.here && !this.get(this.here)) {
      this.removed(this.here);
      alertOf("The document that was open here has been removed.");
    }
  }

  get(id) {
    return this.documents.find((one) => one.id === id);
  }

  // Those that are asked: the ones that are ticked, else the one that is open
  get asked() {
    return this.chosen.size ? [...this.chosen] : this.here ? [this.here] : [];
  }

  draw() {
    const sought = $("search").value.trim().toLowerCase();
    const there = this.documents.filter((one) => !this.going.has(one.id));
    const shown = there.filter((one) => `${one.title} ${one.file}`.toLowerCase().includes(sought));
    $("search").hidden = there.length < 6 && !sought;
    list("documents", shown.map((one) => ({ ...one, here: one.id === this.here, chosen: this.chosen.has(one.id) })), (one) => this.made(one, there.length > 1));
    const n = this.chosen.size;
    $("asking-of").hidden = !n;
    $("asking-of").textContent = n ? `Questions are asked of ${n === 1 ? "the ticked document" : `the ${n} ticked documents`}.` : "";
    $("go").textContent = n > 1 ? `Ask ${n} documents` : "Ask";
    $("go").disabled = !this.asked.length;
  }

  made(one, many) {
    const name = make("span", { className: "name" }, one.title);
    const open = button("", doing(() => this.open(one.id)), "link");
    const facts = [one.file === one.title ? "" : one.file, one.pages ? `${one.pages} pages` : `${one.chars.toLocaleString()} characters`];
    open.append(name, span(facts.filter(Boolean).join(" · "), "facts"));
    open.setAttribute("aria-current", one.here);
    open.title = `${one.chars.toLocaleString()} characters`;
    const remove = button("×", () => this.remove(one), "quiet");
    remove.setAttribute("aria-label", `Remove ${one.title}`);
    if (!many) return item(open, remove);
    const tick = make("input", { type: "checkbox", checked: one.chosen, "aria-label": `Ask ${one.title}` });
    tick.onchange = () => {
      this.chosen[tick.checked ? "add" : "delete"](one.id);
      this.draw();
    };
    return item(tick, open, remove);
  }

  // At once to the eye, for good when nobody wants it back
  remove(one) {
    this.going.add(one.id);
    const wasChosen = this.chosen.delete(one.id), wasHere = this.here === one.id;
    if (wasHere) this.removed(one.id);
    this.draw();
    const back = () => {
      this.going.delete(one.id);
      if (wasChosen) this.chosen.add(one.id);
      this.draw();
      if (wasHere) doing(() => this.open(one.id))();
    };
    removable(one.title, back, async () => {
      try {
        await api(`documents/${one.id}`, { method: "DELETE", keepalive: true });
      } finally {
        this.going.delete(one.id);
        await this.refresh();
      }
    });
  }

  async upload(files) {
    const wrong = [];
    for (const file of files) {
      const form = new FormData();
      form.append("file", file);
      $("drop").querySelector("span").textContent = `Reading ${file.name} …`;
      try {
        await this.added(await api("documents", { method: "POST", form }));
      } catch (error) {
        wrong.push(error.message);  // the others may be right
      }
    }
    $("drop").querySelector("span").textContent = "Drop files here, or choose some";
    if (wrong.length) throw new Error(wrong.join(" "));
  }

  // Open a document that was just given, and show how its reading was less than perfect
  async added(given) {
    await this.open(given.id);
    $("notes").replaceChildren(...given.notes.map((note) => item(note)));
  }
}
