// The page: a shelf of documents, the text of one, and the conversation about it. Shows what /api tells.

import { Answer } from "./answer.js";
import { api, Watch } from "./api.js";
import { Desk } from "./desk.js";
import { $, alertOf, button, doing, item, list, quietly, removable, span } from "./dom.js";
import { options, showMachine } from "./machine.js";
import { Margins } from "./margins.js";
import { Places } from "./places.js";
import { Progress } from "./progress.js";
import { Shelf } from "./shelf.js";

const state = { question: null, watch: null, texts: new Map(), gone: new Set(), ids: new Map(), recalled: new Map() };
const desk = new Desk(doing(() => showText(shelf.here)));
const places = new Places(desk);
const progress = new Progress();
const shelf = new Shelf({ open: openDocument, removed: leave });
const answer = new Answer((document, chars, segment) => quietly(goTo)(state.ids.get(document), chars, segment));
const margins = new Margins({ go: (one) => quietly(goTo)(state.ids.get(one.document), one.quote ?? one.chars, one.segment), judge });

// ---- Documents

// A document on the shelf has a number, one of a library is called by its path in the API
const inLibrary = (library, name) => `libraries/${encodeURIComponent(library)}/document?name=${encodeURIComponent(name)}`;

async function text(id) {
  if (!state.texts.has(id)) {
    const found = await api(typeof id === "number" ? `documents/${id}` : id);
    if (found.page_images) found.sheets = await api(`documents/${id}/pages`);
    state.texts.set(id, found);
  }
  return state.texts.get(id);
}

// Nothing is on the desk
function showNothing() {
  shelf.here = null;
  desk.show({ text: "", chars: 0 });
  $("reader").hidden = true;
  $("welcome").hidden = false;
}

function leave() {
  const question = state.question?.id ?? null;
  listed = ++looked;
  unwatch();
  state.question = null;
  showNothing();
  answer.clear();
  margins.clear();
  for (const id of ["progress", "before", "settled"]) $(id).hidden = true;
  buttons("idle");
  shelf.draw();
  remember();
  return question;
}

async function openDocument(id, question = null) {
  const isOfQuestion = (state.question?.documents.includes(id) || [...state.ids.values()].includes(id)) && !question;
  if (!isOfQuestion) {
    shelf.leaveTicks(id);
    unwatch();
    state.question = null;
    answer.clear();
    margins.clear();
    $("progress").hidden = $("settled").hidden = true;
    buttons("idle");
  }
  state.texts.delete(id);
  await showText(id);
  pane("desk");  // at once: later the reader may have gone elsewhere
  await Promise.all([shelf.refresh(), listQuestions()]);
  remember();
  if (question) await openQuestion(question);
}

// Show a document's text, with what has been read of it for the question
async function showText(id) {
  const document = await text(id);
  shelf.here = id;
  $("reader").hidden = false;
  $("welcome").hidden = true;
  desk.show(document);
  places.show(document);
  $("title").textContent = document.title;
  $("notes").replaceChildren();
  for (const event of state.question ? state.read : []) if (state.ids.get(event.document) === id) desk.read(event, false);
  if (state.question) {
    state.scores.forEach((relevance, segment) => desk.score(segment, relevance));
    margins.ordered.forEach((one) => desk.tick(one.segment, one.quote ?? one.chars));
    if (!state.watch) desk.rest();
  }
  desk.remark();
  shelf.draw();
  tabs();
}

function tabs() {
  const ids = [...new Set([...(state.question?.documents ?? []), ...(state.question ? state.ids.values() : [])])];
  $("tabs").hidden = ids.length < 2;
  list("tabs", ids.map((id) => ({ id, title: titleOf(id) ?? "removed", here: id === shelf.here })), (one) => {
    const made = button(one.title, doing(() => openDocument(one.id)));
    made.setAttribute("aria-pressed", one.here);
    made.disabled = titleOf(one.id) === undefined;
    return made;
  });
  $("title").hidden = ids.length > 1;
}

async function goTo(id, chars, segment) {
  if (id !== shelf.here) await showText(id);
  margins.stand(segment, chars, (one) => state.ids.get(one.document) === id);
  pane("desk");
  await desk.go(chars, segment);
}

// ---- Questions

let looked = 0, listed = 0;

async function listQuestions() {
  const mine = ++looked;
  const library = state.question?.library ?? (shelf.here ? null : shelf.library);
  const of = library ? `library=${encodeURIComponent(library)}` : typeof shelf.here === "number" ? `document=${shelf.here}` : null;
  const found = of ? (await api(`questions?${of}`)).filter((one) => !state.gone.has(one.id)) : [];
  if (mine < listed) return;  // a later list came sooner
  listed = mine;
  $("before").hidden = !found.length;
  const shown = found.map((one) => ({ facts: facts(one), id: one.id, question: one.question, here: one.id === state.question?.id }));
  list("asked", shown, (one) => {
    const open = button("", doing(() => openQuestion(one.id)), "link");
    open.append(one.question, " ", span(one.facts, "facts"));
    open.setAttribute("aria-current", one.here);
    const remove = button("×", () => removeQuestion(one), "quiet");
    remove.setAttribute("aria-label", `Remove the question ${one.question}`);
    return item(open, remove);
  });
}

function facts({ state, status, short, options, asked }) {
  const ends = { waiting: "in line", running: "being answered", failed: "failed", cancelled: "cancelled" };
  const said = ends[state] ?? (status === "not_found" ? "not found" : status === "unsure" && short ? `perhaps ${short}` : short);
  const time = new Date(1000 * asked).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
  return [said, options.pattern, options.model, time].filter(Boolean).join(" · ");
}

function removeQuestion(one) {
  state.gone.add(one.id);
  if (state.question?.id === one.id) {
    unwatch();
    state.question = null;
    answer.clear();
    margins.clear();
    $("progress").hidden = true;
    buttons("idle");
    typeof shelf.here === "number" ? quietly(showText)(shelf.here) : showNothing();
    remember();
  }
  quietly(listQuestions)();
  removable(`“${one.question}”`, () => {
    state.gone.delete(one.id);
    quietly(listQuestions)();
  }, () => api(`questions/${one.id}`, { method: "DELETE", keepalive: true }));
}

async function ask() {
  if (state.asking) return;
  state.asking = true;
  try {
    const body = { ...shelf.asked, question: $("question").value, options: { ...options }, read_on: $("keep").checked };
    if ($("pattern").value) body.options.pattern = $("pattern").value;
    if (state.question) body.follows = state.question.id;
    if (state.on) await api(`questions/${state.question.id}/cancel`, { method: "POST" });  // in the background
    pane("talk");
    await watch(await api("questions", { method: "POST", body }));
  } catch (error) {
    await shelf.refresh();  // what is asked may be gone
    throw error;
  } finally {
    state.asking = false;
  }
}

async function openQuestion(id) {
  const question = await api(`questions/${id}`);
  $("question").value = question.question;
  $("pattern").value = question.options.pattern ?? "";
  shelf.choose(question.documents, question.library);
  $("talk").scrollTop = 0;
  await watch(question);
}

// All events of a question, from the first one on: those of the past come at once
async function watch(question) {
  unwatch();
  Object.assign(state, { question, read: [], scores: new Map(), ids: new Map(), recalled: new Map(), more: false, on: false, last: -1 });
  answer.clear();
  margins.clear(question.judged);
  progress.begin();
  desk.at = null;
  $("settled").hidden = true;
  const id = question.documents.includes(shelf.here) ? shelf.here : question.documents[0];
  if (id !== undefined) await showText(id);
  else if (typeof shelf.here !== "number") showNothing();
  remember();
  listen();
  await listQuestions();
}

function listen() {
  buttons("running");
  state.watch = new Watch(state.question.id, state.last, {
    onEvent: show,
    onLost: (lost) => ($("lost").hidden = !lost),
    onEnd: (ended) => {
      unwatch();
      buttons("done");
      if (!ended) return alertOf("The connection was lost. Reload the page to go on.");
      quietly(listQuestions)();
      quietly(showMachine)();
    },
  });
}

function unwatch() {
  if (state.watch) {
    state.last = state.watch.last ?? state.last;
    state.watch.close();
  }
  state.watch = null;
  state.on = false;
  $("lost").hidden = true;
  desk.rest();
}

function show(event) {
  const isHere = state.ids.get(event.document) === shelf.here;
  switch (event.type) {
    case "queued": progress.queued(event); break;
    case "recall.started": progress.stage(`Looking through ${event.documents.toLocaleString()} documents of ${event.library}`); break;
    case "recall.passages": event.passages.forEach((one) => state.recalled.set(one.document, one.title)); break;
    case "question.settled":
      $("settled").textContent = `Asked as: ${event.asked_as}`;
      $("settled").hidden = false;
      break;
    case "reading.started":
      event.documents.forEach((name, at) => state.ids.set(name, state.question.documents[at] ?? inLibrary(state.question.library, name)));
      if (![...state.ids.values()].includes(shelf.here)) quietly(showText)(state.ids.values().next().value);
      else tabs();
      if (!event.read_segments) {  // read on, the answer may stand
        desk.anew = true;
        state.read = [];
        answer.clear();
        margins.anew();
      }
      progress.started(event);
      quietly(showMachine)();
      break;
    case "segments.embedded": progress.embedded(event); break;
    case "reading.progress": progress.progressed(event); break;
    case "segment.read":
      state.read.push(event);
      if (isHere) desk.read(event, $("follow").checked && !$("follow-label").hidden && !answer.event);
      break;
    case "segment.scored":
      score(event.segment, event.relevance);
      progress.scored(event);
      break;
    case "margin.judged":
      margins.add(state.ids.size > 1 ? { ...event, title: titles().get(event.document) } : event);
      if (isHere) desk.tick(event.segment, event.quote ?? event.chars);
      break;
    case "reading.ranked": event.ranking.forEach((one) => score(one.segment, one.relevance, one.chosen)); break;
    case "answer.provisional":
      if (!answer.event) answer.provisional(event);
      break;
    case "answer.revised":
      answer.clear();
      progress.warn(["A better passage was found: the answer again."], true);
      break;
    case "answer.delta":
      progress.stage("Writing the answer");
      answer.write(event.text);
      break;
    case "warning": progress.warn([event.text], true); break;
    case "answer.finished": finished(event); break;
    case "error":
      $("progress").hidden = true;
      if (!answer.event) answer.clear();
      alertOf(`${event.message}. ${event.hint}`);
  }
}

function score(segment, relevance, chosen) {
  state.scores.set(segment, relevance);
  desk.score(segment, relevance);
  margins.score(segment, relevance, chosen);
}

const titles = () => new Map([...state.ids].map(([name, id]) => [name, titleOf(id) ?? name]));

const few = (names) => names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");

function titleOf(id) {
  const name = [...state.ids].find(([, one]) => one === id)?.[0];
  return typeof id === "number" ? shelf.get(id)?.title : state.recalled.get(name) ?? name;
}

function finished(event) {
  answer.show(event, state.question.asked_as || state.question.question, titles(), margins.setAside);
  const read = new Set(state.read.map((one) => one.document)), left = [...titles()].filter(([name]) => !read.has(name));
  state.more = event.read_segments < event.segments;
  progress.finished(event, state.more && read.size ? few(left.map(([, title]) => title)) : "");
  desk.rest();
  const [first] = event.quotes ?? [], carries = state.ids.get(first?.document);
  if (carries && event.status !== "not_found" && $("follow").checked) quietly(async () => {
    if (carries !== shelf.here) await showText(carries);
    await desk.go(first.chars, undefined, false);
  })();
  if (!state.watch) return;
  state.on = true;  // it may be read on in the background: the next question may come
  buttons("running");
}

async function judge(segment, accepted) {
  await doing(async () => {
    const question = await api(`questions/${state.question.id}/margins/${segment}`, { method: "PUT", body: { accepted } });
    margins.mark(question.judged);
    if (!state.watch) buttons("done");
  })();
}

async function again(readOn = false) {
  const question = await api(`questions/${state.question.id}/again?read_on=${readOn}&to_the_end=${readOn && ($("keep").checked || answer.event?.status === "not_found")}`, { method: "POST" });
  state.on = readOn;
  margins.answered = margins.judged;
  if (!readOn) answer.clear();
  progress.warn([]);
  state.question = question;
  listen();
}

function buttons(which) {
  const at = document.activeElement;
  $("go").hidden = which === "running" && !state.on;
  $("now").hidden = $("cancel").hidden = $("follow-label").hidden = which !== "running";
  $("now").disabled = $("cancel").disabled = false;
  $("again").hidden = which !== "done" || (!Object.keys(margins.judged).length && !margins.isChanged);
  $("on").hidden = which !== "done" || !state.more;
  const isLost = at === document.body && state.stopping && !$("go").hidden;  // with its button
  if ((at?.closest("#ask") && at.hidden) || isLost) (which === "running" ? $("now") : $("go")).focus();
  if (which !== "running") state.stopping = false;
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
}

const isNarrow = matchMedia("(max-width: 56rem)");
window.addEventListener("popstate", (event) => pane(event.state ?? "shelf", true));

// The state is in the address, so that a reload keeps it
function remember() {
  const found = new URLSearchParams();
  if (typeof shelf.here === "number") found.set("document", shelf.here);
  if (state.question) found.set("question", state.question.id);
  history.replaceState(history.state, "", "#" + found);
}

const EXAMPLE = ["example.md", "When may the washing machine be used on Sundays?"];

async function example() {
  const [name, question] = EXAMPLE, form = new FormData();
  form.append("file", new File([await (await fetch(name)).blob()], name));
  await shelf.added(await api("documents", { method: "POST", form }));
  $("question").value = question;
  pane("talk");
  $("question").focus();
}

$("ask").onsubmit = (event) => {
  event.preventDefault();
  if (!$("go").disabled && (state.on || !state.watch)) doing(ask)();
};
$("question").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("ask").requestSubmit();
  } else if (event.key === "Escape" && !event.isComposing) $("question").blur();
};
const stop = (how, stage) => doing(async () => {
  state.stopping = document.activeElement?.closest("#ask") !== null;  // a button that is disabled loses the focus
  $("now").disabled = $("cancel").disabled = true;
  progress.stage(stage);
  try {
    await api(`questions/${state.question.id}/${how}`, { method: "POST" });
  } catch (error) {
    $("now").disabled = $("cancel").disabled = false;
    throw error;
  }
});
$("now").onclick = stop("answer-now", "Answering from what has been read");
$("cancel").onclick = stop("cancel", "Stopping");
$("again").onclick = doing(() => again());
$("on").onclick = doing(() => again(true));
$("example").onclick = doing(example);
$("open-settings").onclick = () => $("settings").showModal();
document.querySelector(".skip").onclick = () => pane("talk");
$("open-keys").onclick = () => $("keys").showModal();
for (const one of $("panes").children) one.onclick = () => pane(one.dataset.to);

function toQuestion() {
  pane("talk");
  $("question").select();
}

function toFind() {
  if ($("reader").hidden) return;
  pane("desk");
  $("find").select();
}

const press = (id) => () => $(id).hidden || $(id).click();
const judgeAt = (accepted) => () => margins.at !== null && margins.verdict(margins.at, accepted);
const KEYS = {
  "/": toQuestion, "?": () => $("keys").showModal(), a: press("now"), r: press("on"), g: press("again"), x: press("cancel"),
  j: () => margins.step(1), k: () => margins.step(-1), "+": judgeAt(true), "-": judgeAt(false), q: () => answer.quotation(),
  c: () => $("export").hidden || $("copy").click(), f: toFind, u: () => $("undo").hidden || $("undo").querySelector("button").click(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (!(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

doing(async () => {
  const found = new URLSearchParams(location.hash.slice(1)), id = Number(found.get("document"));  // as one came
  pane("shelf", true);
  await Promise.all([showMachine(), shelf.refresh()]);
  if (!shelf.documents.length) pane("desk", true);  // where one is welcome
  if (shelf.here !== null || state.question) remember();  // somebody was faster
  else if (shelf.get(id)) await openDocument(id, found.get("question"));
  else if (found.get("question") && !id) await openQuestion(found.get("question")).catch(remember);
  else remember();  // it has been removed
  quietly(() => shelf.lookForFiles())();
})();

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
