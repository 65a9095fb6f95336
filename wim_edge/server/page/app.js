// The page: a shelf of documents, the one that is open, and the conversation about it. It shows what /api says.

import { api } from "./api.js";
import { Desk } from "./desk.js";
import { $, button, doing, fill, quietly } from "./dom.js";
import { options, showMachine } from "./machine.js";
import { Places } from "./places.js";
import { Shelf } from "./shelf.js";
import { offered, SUMMARY, Thread } from "./thread.js";
import { isBusy, marks } from "./told.js";

// A document on the shelf has a number, one of a library is called by its path in the API
const inLibrary = (library, name) => `libraries/${encodeURIComponent(library)}/document?name=${encodeURIComponent(name)}`;
const idOf = (question, name, at) => question.documents[at] ?? inLibrary(question.library, name);

const texts = new Map();
const desk = new Desk(doing(() => showText(shelf.here)));
const places = new Places(desk);
const shelf = new Shelf({ open: openDocument, removed: leave, chosenAnew: quietly(() => thread.show()) });
const thread = new Thread(shelf, { shown: quietly(showCard), go: goTo, told: toDesk, idOf, changed, machine: quietly(showMachine) });

// ---- The document

async function text(id) {
  if (!texts.has(id)) {
    const found = await api(typeof id === "number" ? `documents/${id}` : id);
    if (found.page_images) found.sheets = await api(`documents/${id}/pages`);
    texts.set(id, found);
  }
  return texts.get(id);
}

function showNothing() {
  shelf.here = null;
  desk.show({ text: "", chars: 0 });
  $("reader").hidden = true;
  $("welcome").hidden = false;
}

// The document that was open is gone
function leave() {
  thread.leave();
  showNothing();
  shelf.draw();
}

async function openDocument(id) {
  texts.delete(id);
  await showText(id);
  pane("desk");
  await Promise.all([shelf.refresh(), thread.show()]);
}

// Show a document, with what the current question has read of it
async function showText(id) {
  const document = await text(id);
  shelf.here = id;
  $("reader").hidden = false;
  $("welcome").hidden = true;
  desk.show(document);
  places.show(document);
  $("title").textContent = $("title").title = document.title;
  $("notes").replaceChildren();
  const { told } = thread.current ?? {};
  if (told) {
    for (const event of told.read.values()) if (told.names.get(event.document) === id) desk.read(event);
    told.scores.forEach((relevance, segment) => desk.view.score(segment, relevance));
    if (!isBusy(told)) desk.view.rest();
  }
  if (desk.at) desk.view.mark(desk.at);  // in this view too
  shelf.draw();
  changed();
}

// A card's documents are shown, with what was read for it
async function showCard(card) {
  if (!card) return typeof shelf.here === "number" ? showText(shelf.here) : showNothing();
  const { told } = card, ids = [...told.names.values()];
  const id = ids.includes(shelf.here) || told.question.documents.includes(shelf.here) ? shelf.here : ids[0] ?? told.question.documents[0];
  if (id !== undefined) await showText(id);
}

async function goTo(card, one) {
  const id = card.told.names.get(one.document) ?? idOf(card.told.question, one.document, card.told.question.documents.length);
  if (id !== shelf.here) await showText(id);
  pane("desk");
  await desk.go(marks(card.told, one), true);
}

// What an event of the current card means for the document
function toDesk(card, event) {
  const { told } = card, isHere = told.names.get(event.document) === shelf.here;
  switch (event.type) {
    case "reading.started":
      if (!event.read_segments) desk.anew = true;
      if (![...told.names.values()].includes(shelf.here)) quietly(showText)([...told.names.values()][0]);
      changed();
      break;
    case "segment.read": if (isHere) desk.read(event); break;
    case "segment.scored": desk.view.score(event.segment, event.relevance); break;
    case "reading.ranked": event.ranking.forEach((one) => desk.view.score(one.segment, one.relevance)); break;
    case "answer.provisional": markQuote(told, event.quote); break;
    case "answer.finished":
      desk.view.rest();
      if (event.status !== "not_found") markQuote(told, event.quotes?.[0]);
  }
}

// Mark the sentence that carries an answer, in its document
const markQuote = quietly(async (told, quote) => {
  const id = told.names.get(quote?.document);
  if (id === undefined) return;
  if (id !== shelf.here) await showText(id);
  await desk.go(marks(told, quote), false);
});

// ---- What goes along with the conversation

let drawing = null;

function changed() {
  drawing ??= requestAnimationFrame(() => {
    drawing = null;
    drawTabs();
    drawOffers();
    remember();
  });
}

function drawTabs() {
  const { told } = thread.current ?? {};
  const ids = told ? [...new Set([...told.question.documents, ...told.names.values()])] : [];
  const nameOf = (id) => [...told.names].find(([, one]) => one === id)?.[0];
  const titleOf = (id) => typeof id === "number" ? shelf.get(id)?.title : told.titles.get(nameOf(id)) ?? nameOf(id);
  $("tabs").hidden = ids.length < 2;
  $("title").hidden = ids.length > 1;
  fill($("tabs"), ids.length < 2 ? [] : ids.map((id) => ({ id, title: titleOf(id) ?? "removed", here: id === shelf.here })), (one) => {
    const made = button(one.title, doing(() => showText(one.id)));
    made.setAttribute("aria-pressed", one.here);
    made.disabled = titleOf(one.id) === undefined;
    return made;
  });
  for (const [name, id] of told?.names ?? []) if (typeof id === "number" && shelf.get(id)) told.titles.set(name, shelf.get(id).title);
}

// Questions to begin with, of the document that is open
function drawOffers() {
  const { documents, library } = shelf.asked, isOne = documents.length === 1 && !library && texts.has(documents[0]);
  const found = isOne && !thread.cards.length ? offered(texts.get(documents[0])) : [];
  $("offers").hidden = !found.length;
  fill($("offer-list"), found, ({ question, kind }) => button(question, () => doing(ask)(question, kind), "chip"));
  if (shelf.hasAny) $("first").hidden = true;
  $("to-answer").textContent = thread.cards.length ? "Back to the answer" : "Ask a question";
  $("empty").hidden = isOne || thread.cards.length > 0;
  $("empty").textContent = `${documents.length || library ? "Questions about these together" : "Questions and answers"} appear here.`;
}

async function ask(question = $("question").value.trim() || ($("kind").value === "summary" ? SUMMARY : ""), kind = $("kind").value) {
  if ($("go").disabled || !question.trim()) return;
  $("go").disabled = true;
  try {
    const chosen = { ...options, judge: $("judge").value, pattern: $("pattern").value, answer: kind };
    const body = { ...shelf.asked, question, options: Object.fromEntries(Object.entries(chosen).filter(([, value]) => value)), read_on: $("keep").checked };
    pane("talk");
    $("question").value = $("kind").value = "";
    await thread.ask(body);
  } catch (error) {
    if (!$("question").value) [$("question").value, $("kind").value] = [question, kind];
    await shelf.refresh();  // what is asked may be gone
    throw error;
  } finally {
    $("go").disabled = false;
  }
}

// ---- The page as a whole

// Where there is room for one pane alone, show this one; the way back leads to the one before
function pane(name, isBack = false) {
  const here = document.body.dataset.pane;
  if (!isBack && isNarrow.matches && name !== here) {
    if (history.state === null) history.replaceState(here, "");  // where one begins
    history.pushState(name, "");
  }
  document.body.dataset.pane = name;
  for (const one of $("panes").children) one.setAttribute("aria-pressed", one.dataset.to === name);
  if (name === "desk") quietly(() => desk.seenAgain())();
  if (name === "talk" && thread.follows) thread.toEnd();
  if (name !== "shelf") $("to-shelf").setAttribute("aria-expanded", "false");
}

const isNarrow = matchMedia("(max-width: 44rem)");
window.addEventListener("popstate", (event) => pane(event.state ?? "shelf", true));

// The address holds what is open and asked, so that a reload shows the same
function remember() {
  const found = new URLSearchParams(), { documents, library } = shelf.asked;
  if (typeof shelf.here === "number") found.set("document", shelf.here);
  if (documents.length > 1 || library) found.set("asked", documents.join(","));
  if (library) found.set("library", library);
  if (thread.current) found.set("question", thread.current.id);
  if (location.hash !== `#${found}`) history.replaceState(history.state, "", `#${found}`);  // browsers limit how often
  if (typeof shelf.here === "number") localStorage.setItem("document", shelf.here);
}

async function restore() {
  const found = new URLSearchParams(location.hash.slice(1)), here = Number(found.get("document") ?? localStorage.getItem("document"));
  pane("shelf", true);
  await Promise.all([showMachine(), shelf.refresh()]);
  if (!shelf.documents.length) pane("desk", true);  // where one is welcome
  if (shelf.here !== null || thread.cards.length) return;  // somebody was faster
  const question = found.get("question"), asked = question && (await api(`questions/${question}`).catch(() => null));
  if (asked) shelf.choose(asked.documents, asked.library);
  else if (found.has("asked")) shelf.choose(found.get("asked").split(",").map(Number), found.get("library"));
  const id = [here, asked?.documents[0], shelf.documents.at(-1)?.id].find((one) => shelf.get(one));
  if (id !== undefined && !shelf.library) await showText(id);
  if (id !== undefined) pane(asked ? "talk" : "desk", true);
  await thread.show(asked?.id);
  quietly(async () => {  // there may be many: they are looked for once
    shelf.files = await api("files");
    shelf.draw();
  })();
}

async function example() {
  const form = new FormData();
  form.append("file", new File([await (await fetch("example.md")).blob()], "example.md"));
  await shelf.added(await api("documents", { method: "POST", form }));
  $("question").value = "How many bicycles may be kept for each flat?";
  pane("talk");
  $("question").focus();
}

$("ask").onsubmit = (event) => {
  event.preventDefault();
  $("first").hidden = shelf.hasAny;
  if (shelf.hasAny) doing(() => ask())();
};
$("question").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("ask").requestSubmit();
  } else if (event.key === "Escape" && !event.isComposing) $("question").blur();
};
$("example").onclick = doing(example);
$("choose").onclick = () => $("file").click();
for (const name of ["settings", "keys"]) $(`open-${name}`).onclick = () => $(name).showModal();
$("to-shelf").onclick = () => $("to-shelf").setAttribute("aria-expanded", $("to-shelf").getAttribute("aria-expanded") !== "true");
$("to-answer").onclick = document.querySelector(".skip").onclick = () => pane("talk");
for (const one of $("panes").children) one.onclick = () => pane(one.dataset.to);

const press = (name) => () => thread.current?.acts[name].hidden === false && thread.current.acts[name].click();
const KEYS = {
  "/": () => { pane("talk"); $("question").select(); }, "?": () => $("keys").showModal(), a: press("now"), r: press("more"), g: press("again"), x: press("stop"), c: press("copy"),
  j: () => thread.current?.step(1), k: () => thread.current?.step(-1), "+": () => thread.current?.judgeAt(true), "-": () => thread.current?.judgeAt(false),
  q: () => thread.current?.parts.quotes.querySelector("button")?.click(), f: () => { if (!$("reader").hidden) { pane("desk"); $("find").select(); } }, u: () => $("undo").hidden || $("undo").querySelector("button").click(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (!(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

doing(restore)();

// What other tabs and programs do, and whether the server is there
setInterval(async () => {
  if (document.hidden) return;
  try {
    await showMachine();
    await shelf.refresh();
  } catch (error) {
    $("machine").textContent = error.message;
  }
}, 10_000);
