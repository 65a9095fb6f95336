// How far a reading is, in true figures: x of y read, the speed of what is evaluated now, the stage by its name.

import { $, item, percent } from "./dom.js";

const WINDOW_MS = 8000;
const ENDS = {
  stop: "answered", length: "answer cut at its longest", cancelled: "cancelled", early_exit: "stopped early, answered",
  repeated: "answer ended where it repeated itself",
};

export class Progress {
  begin() {
    Object.assign(this, { plan: null, read: 0, samples: [] });
    this.tell("");
    this.stage("");
    this.warn([]);
    $("progress").hidden = $("bar").hidden = false;
    this.bar(null);
  }

  tell(text) {
    $("told").textContent = text;
  }

  // Few words, that a screen reader says
  stage(text) {
    if ($("stage").textContent !== text) $("stage").textContent = text;
  }

  warn(texts, more = false) {
    const made = texts.map((text) => item(text));
    more ? $("warnings").append(...made) : $("warnings").replaceChildren(...made);
  }

  bar(share) {
    if (share === null) $("bar").removeAttribute("value");
    else $("bar").value = share;
  }

  queued({ before }) {
    this.bar(null);
    this.stage(before ? `Waiting behind ${before} other${before > 1 ? "s" : ""}` : "The model is being loaded");
  }

  started(event) {
    $("bar").hidden = false;
    this.plan = event;
    this.read = event.read_segments;
    this.promising = event.within === "auto" || event.read_segments > 0;
    this.samples = [];
    this.bar(this.read / event.segments);
    this.stage(this.promising ? "Reading what is promising" : "Reading");
    const why = event.why ? ` (${event.why})` : "";
    this.tell(`${event.tokens.toLocaleString()} tokens in ${event.segments} segments; ${models(event)}, ${event.pattern}${why}`);
  }

  embedded(event) {
    this.stage("Comparing meanings");
    this.tell(`${event.segments} of ${event.of} segments compared`);
  }

  // What was restored comes at once: the speed is that of the last seconds alone
  progressed({ tokens, of }) {
    if (this.promising) return;  // how much will be read is not known
    const now = performance.now();
    this.samples.push({ tokens, at: now });
    while (this.samples.length > 2 && now - this.samples[0].at > WINDOW_MS) this.samples.shift();
    this.bar(tokens / of);
    const [first] = this.samples, seconds = (now - first.at) / 1000, rate = (tokens - first.tokens) / seconds;
    const speed = seconds > 1.5 && rate > 0 ? `, ${Math.round(rate)} tokens a second, ${left((of - tokens) / rate)} left` : "";
    this.tell(`${tokens.toLocaleString()} of ${of.toLocaleString()} tokens read${speed}`);
  }

  scored(event) {
    if (!this.promising || !this.plan) return;
    this.read += 1;
    this.bar(this.read / this.plan.segments);
    this.tell(`${this.read} of ${this.plan.segments} segments read${better(event)}`);
  }

  // `untouched`: the documents of which nothing was read
  finished(event, untouched) {
    const { usage } = event, end = event.status === "not_found" && event.finish_reason === "stop" ? "no answer found" : ENDS[event.finish_reason];
    const known = usage.reused_tokens ? `, ${usage.reused_tokens.toLocaleString()} tokens known from an earlier reading` : "";
    const part = event.read_segments < event.segments ? `${event.read_segments} of ${event.segments} segments read${untouched && `, nothing of ${untouched}`}${better(event)} · ` : "";
    const isEnough = event.finish_reason !== "early_exit" && event.read_segments < event.segments;
    $("bar").hidden = isEnough;  // it would look as if more were to come
    this.bar(event.segments ? event.read_segments / event.segments : 1);
    this.stage("");
    const { total } = usage.seconds, when = total < 0.05 ? "at once" : `in ${total.toFixed(1)} s`;
    this.tell(`${end} ${when} · ${part}${usage.prefilled_tokens.toLocaleString()} ` +
      `${this.plan && !known ? `of ${this.plan.tokens.toLocaleString()} ` : ""}tokens read${known} · ${models(event)}, ${event.pattern}`);
  }
}

export const models = ({ model, judge }) => (judge ? `${model} judged by ${judge}` : model);

export function better({ unread_probability: unread }) {
  if (unread == null) return "";
  return unread > 0.99 ? ", none that answers so far" : `, ${percent(unread)} likely that another one answers better`;
}

const left = (seconds) => (seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`);
