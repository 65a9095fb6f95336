// What the machine does and holds: the model, others that may be fetched, texts that need not be read again.

import { api, streamed } from "./api.js";
import { $, alertOf, button, doing, item, list, make, megabytes } from "./dom.js";
import { models as named } from "./progress.js";

export const options = {};
let fetching = false;

$("judge").onchange = () => {
  options.judge = $("judge").value;
  if (!options.judge) delete options.judge;
};

export async function showMachine() {
  const [status, models, readings] = await Promise.all([api("status"), api("models"), api("readings")]);
  const kept = readings.reduce((sum, one) => sum + one.bytes, 0);
  $("machine").textContent = [
    status.model ? named(status) : "no model loaded yet", `${megabytes(status.memory_bytes)} in use`,
    readings.length ? `${readings.length} text${readings.length > 1 ? "s" : ""} kept (${megabytes(kept)})` : "",
    status.waiting > 1 ? `busy, ${status.waiting - 1} in line` : status.waiting ? "busy" : "idle",
  ].filter(Boolean).join(" · ");
  $("machine").title = `${megabytes(status.memory_free_bytes)} of memory are free`;
  if ($("pattern").length === 1) {
    $("keep").checked = status.read_on;
    $("pattern").append(...status.patterns.map((name) => new Option(name)));
  }
  $("able").textContent = able(models, status.model ?? status.settings.model?.value);
  if (!fetching) list("models", models.map((one) => ({ ...one, asked: one.name === status.model })), modelItem);
  const usual = status.settings.judge?.value, judges = models.filter((one) => one.here && !one.embeds).map((one) => [one.name, one.name]);
  list("judge", [[`default (${usual && usual !== "self" ? usual : "the model itself"})`, ""], ["the model itself", "self"], ...judges], ([label, value]) => new Option(label, value));
  $("judge").value = options.judge ?? "";
  list("readings", readings, (one) => {
    const remove = button("×", doing(async () => {
      await api(`readings/${one.id}`, { method: "DELETE" });
      await showMachine();
    }));
    remove.setAttribute("aria-label", `Forget ${one.title}`);
    return item(`${one.title} · ${one.model}, ${one.tokens.toLocaleString()} tokens, ${megabytes(one.bytes)}`, remove);
  });
}

// What the model at hand can do, and how to get a better one
function able(models, name) {
  const here = models.filter((one) => one.here);
  if (!here.length) return "There is no model on this machine yet: fetch one under “Model and memory”.";
  name ??= (here.filter((one) => one.fits && !one.embeds).at(-1) ?? here[0]).name;  // as it is chosen when one is asked
  const small = /smollm2-135m|gemma3-270m/i.test(name);
  return small
    ? `The model here, ${name}, is very small: it points at answers that stand in the text, in English, and explains nothing. Larger ones, which write, can be fetched under “Model and memory”.`
    : `The model here is ${name}; others can be chosen under “Model and memory”.`;
}

function modelItem(one) {
  if (!one.here) {
    const pull = button(`Fetch (${megabytes(one.bytes)})`, doing(() => fetchModel(one.name, pull)));
    pull.disabled = !one.fits;
    return item(`${one.name} · ${one.parameters}, ${one.licence}${one.fits ? "" : ", does not fit this machine"}`, pull);
  }
  const radio = make("input", { type: "radio", name: "model", value: one.name, onchange: () => (options.model = one.name) });
  radio.checked = options.model === one.name || (!options.model && one.asked);
  return item(make("label", {}, radio, ` ${one.name} · ${one.parameters}, ${one.licence}${one.loaded ? ", loaded" : ""}`));
}

async function fetchModel(name, shown) {
  shown.disabled = fetching = true;
  try {
    for await (const event of streamed(`models/${encodeURIComponent(name)}/pull`)) {
      if (event.type === "pull.progress" && event.of) shown.textContent = `${event.model === name ? "" : `${event.model} `}${Math.floor((100 * event.bytes) / event.of)}%`;
      if (event.type === "warning") alertOf(event.text);
      if (event.type === "error") throw new Error(`${event.message}. ${event.hint}`);
    }
  } finally {
    fetching = false;
    delete $("models").dataset.shown;  // also where it failed, its button is drawn anew
    await showMachine();
  }
}
