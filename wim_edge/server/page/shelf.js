// The shelf: documents, libraries and files of folders, which of them are asked, and how documents come and go.

import { api, streamed } from "./api.js";
import { $, alertOf, button, doing, fill, item, make, many, removable, show, span } from "./dom.js";

const FILES_SHOWN = 8;  // more are found by searching

export class Shelf {
  // `open(id)` shows a document, `removed(id)` says that it is gone, `chosenAnew()` that others are asked
  constructor({ open, removed, chosenAnew }) {
    Object.assign(this, { open, removed, chosenAnew, documents: [], libraries: [], files: [], library: null, chosen: new Set(), going: new Set(), here: null });
    $("search").oninput = () => this.draw();
    $("file").onchange = doing(async () => {
      const files = [...$("file").files];
      $("file").value = "";  // the same file may be chosen again
      await this.upload(files);
    });
    for (const type of ["dragover", "dragleave", "drop"]) {
      document.addEventListener(type, (event) => {
        event.preventDefault();
        $("drop").classList.toggle("over", type === "dragover");
        if (type === "drop") doing((files) => this.upload(files))([...event.dataTransfer.files]);
      });
    }
  }

  async refresh() {
    const asked = this.refreshing = Promise.all([api("documents"), api("libraries")]), found = await asked;
    if (asked !== this.refreshing) return;  // asked for again since: what came in between is not in this
    [this.documents, this.libraries] = found;
    if (!this.libraries.some((one) => one.name === this.library)) this.library = null;
    for (const id of this.chosen) if (!this.get(id)) this.chosen.delete(id);
    this.draw();
    if (typeof this.here === "number" && !this.get(this.here)) {
      this.removed(this.here);
      alertOf("The document that was open here has been removed.");
    }
  }

  get(id) {
    return this.documents.find((one) => one.id === id);
  }

  // What is asked: what is ticked, else the document that is open
  get asked() {
    const documents = this.chosen.size || this.library ? [...this.chosen] : typeof this.here === "number" ? [this.here] : [];
    return { documents, library: this.library };
  }

  // Tick what a question was asked of, where it is more than the document that is open
  choose(documents, library) {
    this.chosen = new Set(documents.length > 1 || library ? documents.filter((id) => this.get(id)) : []);
    this.library = library;
    this.draw();
  }

  draw() {
    const sought = $("search").value.trim().toLowerCase();
    const there = this.documents.filter((one) => !this.going.has(one.id));
    const shown = there.filter((one) => `${one.title} ${one.file}`.toLowerCase().includes(sought));
    const files = this.files.filter((one) => one.name.toLowerCase().includes(sought));
    $("tick").hidden = there.length < 2 && !this.libraries.length;
    $("search").hidden = there.length + this.files.length < 6 && !sought;
    fill($("documents"), shown.map((one) => ({ ...one, here: one.id === this.here, chosen: this.chosen.has(one.id) })), (one) => this.made(one, there.length > 1 || this.libraries.length > 0));
    $("more-libraries").hidden = !this.libraries.length;
    fill($("libraries"), this.libraries.map((one) => ({ ...one, chosen: one.name === this.library })), (one) => this.madeLibrary(one));
    $("more-files").hidden = !this.files.length;
    const add = (path) => doing(async () => this.added(await api("documents/named", { method: "POST", body: { path } })));
    fill($("files"), files.slice(0, FILES_SHOWN), ({ path, name }) => item(button(name, add(path), "link")));
    const left = files.length - FILES_SHOWN;
    show($("files-left"), left > 0 ? `and ${left.toLocaleString()} more: search for them` : "");
    const { documents, library } = this.asked, n = this.chosen.size;
    const of = [n && (n === 1 ? "the ticked document" : `the ${n} ticked documents`), library && `the library ${library}`];
    const isOne = !n && !library, asked = isOne ? this.get(this.here)?.title : of.filter(Boolean).join(" and ");
    show($("asking-of"), asked ? `Asking ${asked}` : "");
    this.hasAny = documents.length > 0 || Boolean(library);
  }

  // One library is asked at a time
  madeLibrary({ name, documents, has_files: hasFiles, chosen }) {
    const tick = this.tick({ checked: chosen }, (isOn) => (this.library = isOn ? name : null));
    const label = make("label", {}, tick, ` ${name} `, span(many(documents, "document"), "facts"));
    if (!hasFiles) return item(label);
    const bring = button("Sync", doing(() => this.sync(name, bring)), "quiet", `Bring ${name} in step with its files`);
    bring.title = "Read what is new or has changed in its files and folders, and let go of what is gone";
    return item(label, bring);
  }

  // Each file that is not as it was is told of as it is done
  async sync(name, shown) {
    const told = $("synced"), wrong = [];
    shown.disabled = true;
    show(told, `${name}: looking at its files …`);
    try {
      for await (const { type, path = "", state, note, files } of streamed(`libraries/${encodeURIComponent(name)}/sync`)) {
        const file = path.split(/[\\/]/).pop();
        if (type === "sync.file") told.textContent = `${name}: ${state} ${file}${note ? `, ${note}` : ""}`;
        if (state === "failed") wrong.push(`${file}: ${note}`);
        if (type === "sync.finished") {
          const { unchanged = 0, skipped = 0, ...others } = files;
          const changes = Object.entries(others).map(([state, n]) => `${n.toLocaleString()} ${state}`);
          told.textContent = `${name}: ${changes.join(", ") || `in step, ${many(unchanged, "file")} unchanged`}`;
        }
      }
      if (wrong.length) told.textContent += ` (${wrong.slice(0, 3).join("; ")})`;
    } finally {
      shown.disabled = false;
      await this.refresh();
    }
  }

  made(one, isOneOfSeveral) {
    const open = button("", doing(() => this.open(one.id)), "link");
    const file = one.file.startsWith(`${one.title}.`) ? one.file.slice(one.title.length + 1).toUpperCase() : one.file;
    const facts = [one.file === one.title ? "" : file, one.pages ? many(one.pages, "page") : many(Math.ceil(one.chars / 600) * 100, "word")];
    open.append(span(one.title, "name"), span(facts.filter(Boolean).join(" · "), "facts"));
    open.setAttribute("aria-current", one.here);
    open.title = many(one.chars, "character");
    const remove = button("×", () => this.remove(one), "quiet", `Remove ${one.title}`);
    if (!isOneOfSeveral && !one.chosen) return item(open, remove);
    const said = { "aria-label": `Ask ${one.title}`, title: "Ask this document, together with others that are ticked" };
    return item(this.tick({ checked: one.chosen, ...said }, (isOn) => this.chosen[isOn ? "add" : "delete"](one.id)), open, remove);
  }

  // A box that ticks what is asked
  tick(properties, choose) {
    const onchange = ({ target }) => {
      choose(target.checked);
      this.draw();
      this.chosenAnew();
    };
    return make("input", { type: "checkbox", onchange, ...properties });
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
    removable(one.title, back, () => api(`documents/${one.id}`, { method: "DELETE", keepalive: true }).finally(() => {
      this.going.delete(one.id);
      return this.refresh();
    }));
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
        wrong.push(`Couldn’t open ${error.message}`);  // the others may be right
      }
    }
    $("drop").querySelector("span").textContent = "Add documents";
    if (wrong.length) throw new Error(wrong.join("\n"));
  }

  // Open a document that was just given, ticked where others are, and show how its reading was less than perfect
  async added(given) {
    if (this.chosen.size || this.library) this.chosen.add(given.id);
    await this.open(given.id);
    $("notes").replaceChildren(...given.notes.map((note) => item(note)));
  }
}
