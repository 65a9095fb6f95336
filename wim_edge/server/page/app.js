// The page: shows what /api tells. One file, no library; everything of a document goes in as text, never as markup.

import { Reader } from "./reader.js";

const $ = (id) => document.getElementById(id);
const state = { documents: [], document: null, question: null, source: null, begun: 0, first: null, options: {} };
const reader = new Reader($("text"), $("map"), judge);

// ---- Talking to the server

async function api(path, { method = "GET", body, form } = {}) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  let response;
  try {
    response = await fetch("api/" + path, { method, headers, body: form ?? (body && JSON.stringify(body)) });
  } catch {
    throw new Error("The server does not answer. Is `wim-edge serve` still running?");
  }
  if (response.status === 204) return null;
  const found = await response.json().catch(() => ({}));
  if (response.ok) return found;
  const error = found.error ?? { message: found.detail?.[0]?.msg ?? response.statusText, hint: "" };
  throw new Error(`${error.message}. ${error.hint}`);
}

function alertOf(error) {
  const close = button("Close", () => ($("alert").hidden = true));
  $("alert").replaceChildren(error.message ?? String(error), close);
  $("alert").hidden = false;
}

// Does something, and shows what goes wrong
const quietly = (work) => async (...given) => {
  try {
    return await work(...given);
  } catch (error) {
    alertOf(error);
  }
};

// The same for what the reader does: what went wrong before is then seen
const doing = (work) => (...given) => {
  $("alert").hidden = true;
  return quietly(work)(...given);
};

function button(label, onclick, className = "") {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: label, onclick, className });
  return made;
}

function span(text, className = "") {
  const made = document.createElement("span");
  Object.assign(made, { textContent: text, className });
  return made;
}

function item(...children) {
  const made = document.createElement("li");
  made.append(...children.map((one) => (typeof one === "string" ? span(one) : one)));
  return made;
}

// Draws a list anew where what it shows has changed, so that the keyboard's place in it is not lost every time
function list(id, found, made) {
  const shown = JSON.stringify(found);
  if ($(id).dataset.shown === shown) return;
  $(id).dataset.shown = shown;
  const at = [...$(id).querySelectorAll("button, input")].indexOf(document.activeElement);
  $(id).replaceChildren(...found.map(made));
  if (at < 0) return;
  const left = $(id).querySelectorAll("button, input");
  (left[Math.min(at, left.length - 1)] ?? $("question")).focus();
}

const megabytes = (n) => (n < 1e9 ? `${Math.round(n / 1e6)} MB` : `${(n / 1e9).toFixed(1)} GB`);

// ---- Documents

async function listDocuments() {
  state.documents = await api("documents");
  const here = state.document?.id;
  list("documents", state.documents.map((one) => ({ ...one, here: one.id === here })), (one) => {
    const open = button("", doing(() => openDocument(one.id)), "link");
    open.append(one.title, " ", span(one.file.startsWith(one.title) ? "" : one.file, "faint"));
    open.setAttribute("aria-current", one.here);
    open.title = `${one.chars.toLocaleString()} characters${one.pages ? `, ${one.pages} pages` : ""}`;
    const remove = button("×", doing(async () => {
      await api(`documents/${one.id}`, { method: "DELETE" });
      if (state.document?.id === one.id) leave();
      await listDocuments();
    }));
    remove.setAttribute("aria-label", `Let go of ${one.title}`);
    return item(open, remove);
  });
  if (here && !state.documents.some((one) => one.id === here)) {
    leave();
    alertOf("The document that was open here has been let go of.");
  }
}

function leave() {
  unwatch();
  Object.assign(state, { document: null, question: null });
  history.replaceState(null, "", "#");
  for (const id of ["reader", "answer", "progress", "asked-title"]) $(id).hidden = true;
  list("asked", [], item);
  $("go").disabled = true;
}

async function openDocument(id, question = null) {
  unwatch();
  state.document = await api(`documents/${id}`);
  state.question = null;
  reader.show(state.document);
  $("title").textContent = state.document.title;
  $("notes").replaceChildren();
  $("reader").hidden = false;
  $("answer").hidden = $("progress").hidden = $("settled").hidden = true;
  $("go").disabled = false;
  buttons("idle");
  await Promise.all([listDocuments(), listQuestions()]);
  remember();
  if (question) await openQuestion(question);
}

async function upload(files) {
  const wrong = [];
  for (const file of files) {
    const form = new FormData();
    form.append("file", file);
    $("drop").querySelector("span").textContent = `Reading ${file.name} …`;
    try {
      await opened(await api("documents", { method: "POST", form }));
    } catch (error) {
      wrong.push(error.message);  // the others may be right
    }
  }
  $("drop").querySelector("span").textContent = "Drop a file here, or choose one";
  if (wrong.length) throw new Error(wrong.join(" "));
}

// Open a document that was just given, and show how its reading was less than perfect
async function opened(given) {
  await openDocument(given.id);
  $("notes").replaceChildren(...given.notes.map((note) => item(note)));
}

// ---- Questions

async function listQuestions() {
  const found = await api(`questions?document=${state.document.id}`);
  $("asked-title").hidden = !found.length;
  const shown = found.map(({ id, question, options }) => ({ id, question, options, here: id === state.question?.id }));
  list("asked", shown, (one) => {
    const open = button("", doing(() => openQuestion(one.id)), "link");
    open.append(one.question, " ", span([one.options.pattern, one.options.model].filter(Boolean).join(", "), "faint"));
    open.setAttribute("aria-current", one.here);
    const remove = button("×", doing(async () => {
      await api(`questions/${one.id}`, { method: "DELETE" });
      if (state.question?.id === one.id) await openDocument(state.document.id);
      else await listQuestions();
    }));
    remove.setAttribute("aria-label", `Let go of the question ${one.question}`);
    return item(open, remove);
  });
}

async function ask() {
  if (state.asking) return;
  state.asking = true;
  try {
    await enter();
  } catch (error) {
    await listDocuments();  // what is asked may be gone
    throw error;
  } finally {
    state.asking = false;
  }
}

async function enter() {
  const options = { ...state.options };
  const pattern = $("pattern").value;
  if (pattern) options.pattern = pattern;
  const body = { documents: [state.document.id], question: $("question").value, options, read_on: $("keep").checked };
  if (state.question) body.follows = state.question.id;
  if (state.on) await api(`questions/${state.question.id}/cancel`, { method: "POST" });  // in the background
  await watch(await api("questions", { method: "POST", body }));
}

async function openQuestion(id) {
  const question = await api(`questions/${id}`);
  $("question").value = question.question;
  $("pattern").value = question.options.pattern ?? "";
  await watch(question);
}

// All events of a question, from the first one on: those of the past come at once
async function watch(question) {
  unwatch();
  state.question = question;
  reader.show(state.document, question.judged);
  warn([]);
  unanswered();
  $("sources").replaceChildren();
  $("sources-title").hidden = $("answer").hidden = true;
  $("progress").hidden = false;
  $("settled").hidden = true;
  state.first = null;
  state.more = state.on = false;
  remember();
  listen(`api/questions/${question.id}/events`);
  await listQuestions();
}

const ENDS = ["answer.finished", "reading.finished", "error"];
const EVENTS = ["queued", "question.settled", "reading.started", "segments.embedded", "reading.progress", "segment.read", "segment.scored", "margin.judged",
  "reading.ranked", "answer.revised", "answer.delta", "warning", ...ENDS];

function listen(url) {
  buttons("running");
  let last = "";
  const source = (state.source = new EventSource(url));
  source.onopen = () => ($("lost").hidden = true);
  for (const type of EVENTS) {
    source.addEventListener(type, (message) => {
      if (message.data === undefined) return;  // the browser's own "error", below
      last = type;
      state.last = Number(message.lastEventId);
      show(JSON.parse(message.data));
    });
  }
  source.onerror = (message) => {
    if (message.data !== undefined || state.source !== source) return;
    // The server ends the stream after the last event; one that was answered again has several ends in it
    if (ENDS.includes(last)) {
      unwatch();
      buttons("done");
      quietly(listQuestions)();
      quietly(machine)();
    } else if (source.readyState === EventSource.CLOSED) {
      unwatch();
      buttons("done");
      alertOf("The connection was lost. Reload the page to go on.");
    } else {
      $("lost").hidden = false;  // the browser tries again
    }
  };
}

function unwatch() {
  state.source?.close();
  state.source = null;
  $("lost").hidden = true;
}

function show(event) {
  const told = (text) => ($("told").textContent = text);
  switch (event.type) {
    case "queued":
      $("bar").removeAttribute("value");
      told(event.before ? `waiting behind ${event.before} other${event.before > 1 ? "s" : ""}` : "the model is being loaded");
      break;
    case "question.settled":
      $("settled").textContent = `Asked as: ${event.asked_as}`;
      $("settled").hidden = false;
      break;
    case "reading.started":
      reader.anew = !event.read_segments;
      quietly(machine)();
      state.plan = event;
      state.begun = performance.now();
      state.by = event.within === "auto" || event.read_segments ? { read: event.read_segments } : null;
      told(`${event.tokens.toLocaleString()} tokens in ${event.segments} segments; ${event.model}, ${event.pattern}${event.why ? ` (${event.why})` : ""}`);
      if (!event.read_segments) unanswered();  // read on, the answer may stand
      break;
    case "segments.embedded": told(`${event.segments} of ${event.of} segments embedded`); break;
    case "reading.progress": {
      if (state.by) break;  // how much will be read is not known
      const now = performance.now();
      state.first ??= { tokens: event.tokens, at: now };
      $("bar").max = event.of;
      $("bar").value = event.tokens;
      const seconds = (now - state.first.at) / 1000;
      const rate = (event.tokens - state.first.tokens) / seconds;
      const speed = seconds > 0.5 ? `, ${Math.round(rate)} tokens a second, ${left((event.of - event.tokens) / rate)} left` : "";
      told(`${event.tokens.toLocaleString()} of ${event.of.toLocaleString()} tokens${speed}`);
      break;
    }
    case "segment.read": reader.read(event, $("follow").checked && !state.question.answer); break;
    case "segment.scored":
      reader.score(event.segment, event.relevance);
      if (state.by) {
        $("bar").max = state.plan.segments;
        $("bar").value = state.by.read += 1;
        told(`the promising segments first: ${state.by.read} of ${state.plan.segments} read${better(event)}`);
      }
      break;
    case "margin.judged": reader.margin(event); break;
    case "reading.ranked": event.ranking.forEach((one) => reader.score(one.segment, one.relevance)); break;
    case "answer.revised":
      unanswered();
      warn(["A better passage was found: the answer again."], true);
      break;
    case "answer.delta":
      $("answer").hidden = false;
      $("text-of-answer").textContent += event.text;
      break;
    case "warning": warn([event.text], true); break;
    case "answer.finished": finished(event); break;
    case "error":
      told("");
      $("progress").hidden = true;
      alertOf(`${event.message}. ${event.hint}`);
  }
}

function unanswered() {
  delete $("answer").dataset.status;
  $("text-of-answer").textContent = $("short").textContent = $("status").textContent = "";
  $("text-of-answer").className = "";
  $("short").hidden = $("status").hidden = $("quotes-title").hidden = true;
  $("quotes").replaceChildren();
}

// An answer's parts: the short one large, the quotation that carries it below, which leads to its place. Answers of
// older versions have a text alone.
function answer({ text, status = "answered", short = "", quotes = [], unsupported = [] }) {
  unanswered();
  $("answer").hidden = !text;
  $("answer").dataset.status = status;
  const plain = (one) => one.split(/\s+/).join(" ");
  const carries = (paragraph) => quotes.some((one) => plain(paragraph).includes(`“${plain(one.text)}”`));
  const own = text.split("\n\n").filter((paragraph) => !carries(paragraph)).join("\n\n");
  const shown = own || text, pointed = shown.endsWith(short) || shown === `${short}.`;
  $("text-of-answer").textContent = shown;
  $("text-of-answer").className = short && pointed && status !== "not_found" ? "short" : "";
  $("short").textContent = short;
  $("short").hidden = !short || pointed || status === "not_found" || shown.includes("\n- ");
  const notes = [
    ...(status === "unsure" ? ["It may be another: see whether the quotation says so."] : []),
    ...(unsupported.length ? [`In no passage: ${unsupported.join(", ")}`] : []),
  ];
  $("status").textContent = notes.join(" ");
  $("status").hidden = !notes.length;
  const found = quotes.slice(0, status === "not_found" ? 3 : 1);
  $("quotes-title").hidden = status !== "not_found" || !found.length;
  $("quotes").replaceChildren(...found.map((one) => {
    const made = item(
      button(`“${one.text}”`, () => reader.goTo(one.chars), "link"),
      span(reader.place(one), "faint"),
    );
    if (one.header) made.prepend(span(one.header, "faint header"));
    return made;
  }));
}

function finished(event) {
  const { usage } = event;
  answer(event);
  $("bar").value = $("bar").max;
  reader.rest();
  const ends = {
    stop: event.status === "not_found" ? "no answer found" : "answered", length: "answer cut", cancelled: "cancelled",
    repeated: "answer ended where it repeated itself", early_exit: "stopped early, answered",
  };
  const saved = usage.reused_tokens ? `, ${usage.reused_tokens.toLocaleString()} tokens known from an earlier reading` : "";
  $("told").textContent = `${ends[event.finish_reason]} in ${usage.seconds.total.toFixed(1)} s by ${event.model}, ` +
    `${event.pattern}: ${usage.prefilled_tokens.toLocaleString()} tokens read${saved}` +
    (event.read_segments < event.segments ? ` · ${event.read_segments} of ${event.segments} segments read${better(event)}` : "");
  state.more = event.read_segments < event.segments && event.unread_probability != null;
  if (state.source) {  // it may be read on in the background: the next question may come
    state.on = true;
    buttons("running");
  }
  $("sources-title").hidden = !event.sources.length;
  $("sources-title").textContent = event.status === "not_found" ? "Looked at" : "Sources";
  $("sources").replaceChildren(...event.sources.map((one) => item(
    button(reader.place(one), () => reader.go(one.segment, one.quote ?? one.chars, one.chars), "link"),
    `${Math.round(one.relevance * 100)}%`,
  )));
}

function better({ unread_probability: unread }) {
  if (unread == null) return "";  // not known, or of an older version
  return `, ${unread < 0.01 ? "under 1" : Math.round(unread * 100)}% likely that another one answers better`;
}

const left = (seconds) => (!isFinite(seconds) ? "…" : seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`);

function warn(texts, more = false) {
  const made = texts.map((text) => item(text));
  more ? $("warnings").append(...made) : $("warnings").replaceChildren(...made);
}

async function judge(segment, accepted) {
  await doing(async () => {
    const question = await api(`questions/${state.question.id}/margins/${segment}`, { method: "PUT", body: { accepted } });
    reader.judged = question.judged;
    reader.mark(segment);
    if (!state.source) $("again").hidden = false;
  })();
}

async function again(readOn = false) {
  const question = await api(`questions/${state.question.id}/again?read_on=${readOn}&to_the_end=${readOn && $("keep").checked}`, { method: "POST" });
  state.on = readOn;
  if (!readOn) unanswered();
  warn([]);
  state.question = question;
  state.first = null;
  listen(`api/questions/${question.id}/events?after=${state.last}`);
}

function buttons(which) {
  const at = document.activeElement;
  $("go").hidden = which === "running" && !state.on;
  $("now").hidden = $("cancel").hidden = $("follow-label").hidden = which !== "running";
  $("again").hidden = which !== "done" || !Object.keys(reader.judged).length;
  $("on").hidden = which !== "done" || !state.more;
  if (at?.closest("#ask") && at.hidden) (which === "running" ? $("now") : $("go")).focus();  // not lost with its button
}

// ---- The machine

async function machine() {
  const [status, models, readings] = await Promise.all([api("status"), api("models"), api("readings")]);
  const busy = status.waiting ? `${status.waiting} in line` : "idle";
  const kept = readings.reduce((sum, one) => sum + one.bytes, 0);
  $("machine").textContent = `${status.model ?? "no model loaded yet"} · ${megabytes(status.memory_bytes)} held, ` +
    `${megabytes(status.memory_free_bytes)} free · ${readings.length} readings kept (${megabytes(kept)}) · ${busy}`;
  if ($("pattern").length === 1) $("keep").checked = status.read_on;
  if ($("pattern").length === 1) $("pattern").append(...status.patterns.map((name) => new Option(name)));
  $("named").hidden = !status.folders.length;
  $("folders").textContent = status.folders.join(", ");
  if (!state.fetching) list("models", models, modelItem);
  list("readings", readings, (one) => {
    const remove = button("×", doing(async () => {
      await api(`readings/${one.id}`, { method: "DELETE" });
      await machine();
    }));
    remove.setAttribute("aria-label", `Let go of the reading of ${one.title}`);
    return item(`${one.title} · ${one.model}, ${one.tokens.toLocaleString()} tokens, ${megabytes(one.bytes)}`, remove);
  });
}

function modelItem(one) {
  if (!one.here) {
    const pull = button(`Fetch (${megabytes(one.bytes)})`, doing(() => fetchModel(one.name, pull)));
    pull.disabled = !one.fits;
    return item(`${one.name} · ${one.parameters}, ${one.licence}${one.fits ? "" : ", does not fit this machine"}`, pull);
  }
  const label = document.createElement("label");
  const radio = Object.assign(document.createElement("input"), { type: "radio", name: "model", value: one.name });
  radio.checked = state.options.model === one.name || (!state.options.model && one.loaded);
  radio.onchange = () => (state.options.model = one.name);
  label.append(radio, ` ${one.name} · ${one.parameters}, ${one.licence}${one.loaded ? ", loaded" : ""}`);
  return item(label);
}

async function fetchModel(name, shown) {
  shown.disabled = state.fetching = true;
  try {
    await fetching(name, shown);
  } finally {
    state.fetching = false;
    delete $("models").dataset.shown;  // also where it failed, its button is drawn anew
    await machine();
  }
}

async function fetching(name, shown) {
  const response = await fetch(`api/models/${encodeURIComponent(name)}/pull`, { method: "POST" });
  if (!response.ok) throw new Error((await response.json()).error.message);
  let rest = "";
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await lines.read(); !part.done; part = await lines.read()) {
    const events = (rest + part.value).split("\n\n");
    rest = events.pop();
    for (const text of events) {
      const data = text.split("\n").find((line) => line.startsWith("data: "));
      if (!data) continue;
      const event = JSON.parse(data.slice(6));
      if (event.type === "pull.progress" && event.of) shown.textContent = `${Math.floor((100 * event.bytes) / event.of)}%`;
      if (event.type === "error") throw new Error(`${event.message}. ${event.hint}`);
    }
  }
}

// ---- The state is in the address, so that a reload keeps it

function remember() {
  const found = new URLSearchParams();
  if (state.document) found.set("document", state.document.id);
  if (state.question) found.set("question", state.question.id);
  history.replaceState(null, "", "#" + found);
}

$("ask").onsubmit = (event) => {
  event.preventDefault();
  if (state.document && (state.on || !state.source)) doing(ask)();
};
$("question").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("ask").requestSubmit();
  }
};
const stop = (how) => doing(() => api(`questions/${state.question.id}/${how}`, { method: "POST" }));
$("now").onclick = stop("answer-now");
$("cancel").onclick = stop("cancel");
$("again").onclick = doing(() => again());
$("on").onclick = doing(() => again(true));
$("file").onchange = doing(async () => {
  const files = [...$("file").files];
  $("file").value = "";  // the same file may be chosen again
  await upload(files);
});
$("named").onsubmit = (event) => {
  event.preventDefault();
  doing(async () => {
    await opened(await api("documents/named", { method: "POST", body: { path: $("path").value } }));
  })();
};
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", type === "dragover");
    if (type === "drop") doing(upload)([...event.dataTransfer.files]);
  });
}

doing(async () => {
  await Promise.all([machine(), listDocuments()]);
  const found = new URLSearchParams(location.hash.slice(1));
  const id = Number(found.get("document"));
  if (state.documents.some((one) => one.id === id)) await openDocument(id, found.get("question"));
  else remember();  // it has been let go of
})();

// What other tabs and programs do, and whether the server is there
setInterval(async () => {
  if (document.hidden) return;
  try {
    await machine();
    await listDocuments();
  } catch (error) {
    $("machine").textContent = error.message;
  }
}, 10_000);
