// The neighbours of a word, and a person's own decisions about pairs of words.

import { ask, at, ended, may } from "./api.js";
import { byId, el, short, showProblem, text } from "./dom.js";

const dialog = byId("words");
const place = byId("word-answer");
const problems = byId("word-problem");
const progress = byId("word-progress");
const field = byId("word");
let index = null;
let changed = () => {};
let timer = 0;

const track = (share) => el("div", { class: "track", "aria-hidden": "true" },
  el("i", { style: { left: "0", width: `${Math.min(100, 100 * share)}%` } }));

/** Return the sources of a similarity that count, such as "english" or "english 0.31 (times 0.5), texts 0.20". */
function origin(whole) {
  if (!whole) return null;
  const leaves = (one) => (one.parts?.length ? one.parts.flatMap(leaves) : [one]);
  const named = leaves(whole).filter((one) => one.counts);
  const [first] = named;
  const told = named.length === 1 && !first.note ? first.name
    : named.map((one) => `${one.name} ${one.similarity.toFixed(2)}${one.note ? ` (${one.note})` : ""}`).join(", ");
  return el("span", { class: told.length > 12 ? "from long" : "from" }, text(told));
}

/** Change decisions; S is built anew in the background of the server, which takes seconds for large indexes. */
async function change(body) {
  problems.replaceChildren();
  dialog.setAttribute("aria-busy", "true");
  place.inert = true;
  try {
    const task = await ask("PATCH", at(index, "similarities"), body, { prefer: "respond-async" });
    await ended(task, ({ step, done, total }) => {
      progress.textContent = `${step ?? "waiting"}${total ? `, ${Math.floor((100 * done) / total)} %` : ""} …`;
    });
    await show(field.value);
    changed();
  } catch (problem) {
    showProblem(problems, problem);
  } finally {
    progress.textContent = "";
    place.inert = false;
    dialog.removeAttribute("aria-busy");
  }
}

const button = (label, name, action) =>
  el("button", { type: "button", class: "quiet", "aria-label": name, onclick: action }, label);

function neighbors(answer, decided) {
  const { word } = answer;
  const mine = new Set(decided.flatMap((one) => (one.word === word ? [one.other] : one.other === word ? [one.word] : [])));
  const rows = answer.neighbors.map((one) => el("li", {},
    el("button", { type: "button", class: "link name", onclick: () => show(one.word) }, short(one.word)),
    track(one.similarity), el("span", { class: "number" }, one.similarity.toFixed(2)),
    origin(one.origin),
    may("write") ? button("Forbid", `Forbid ${one.word} as similar to ${word}`, () => change({ forbid: [{ word, other: one.word }] })) : null,
    mine.has(one.word) ? el("span", { class: "badge" }, "yours") : null));
  return [
    el("h3", {}, "Similar to ", text(word), answer.indexed ? "" : el("span", { class: "soft" }, " (in no document)")),
    rows.length ? el("ul", { class: "rows" }, rows) : el("p", { class: "soft" }, "No similar words."),
    answer.forbidden.length ? el("p", { class: "soft" }, "Forbidden: ", text(answer.forbidden.map((one) => one.word).join(", "))) : null,
  ];
}

function decisionForm(word) {
  if (!may("write")) return [];
  const other = el("input", { type: "search", required: true, maxlength: "100", autocapitalize: "none", spellcheck: "false" });
  const value = el("input", { type: "number", min: "0", max: "1", step: "0.05", value: "0.8", required: true });
  const form = el("form", { class: "pair" },
    el("label", {}, "Other word", other), el("label", {}, "Similarity", value), el("button", { type: "submit", value: "pin" }, "Pin"),
    el("button", { type: "submit", value: "weigh", title: "Multiply the similarity of the sources" }, "Weigh"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const pair = { word, other: other.value.trim() };
    if (event.submitter?.value === "weigh") change({ weigh: [{ ...pair, weight: Number(value.value) }] });
    else change({ pin: [{ ...pair, similarity: Number(value.value) }] });
  });
  return [el("h3", {}, "Decide yourself"), form];
}

function decisions(answer) {
  if (!answer.decisions.length) return null;
  return [el("h3", {}, may("write") ? "Your decisions" : "Decisions"), el("ul", { class: "rows" }, answer.decisions.map((one, number) => el("li", {},
    el("span", { class: "name" }, text(answer.lines[number])),
    one.other == null || !may("write") ? null
      : button("Take back", `Take back ${answer.lines[number]}`, () => change({ remove: [{ word: one.word, other: one.other }] })))))];
}

async function show(word) {
  field.value = word;
  problems.replaceChildren();
  try {
    const [answer, mine] = await Promise.all([
      word.trim() ? ask("GET", `${at(index, "terms", word.trim())}?k=12`) : null,
      ask("GET", at(index, "similarities")),
    ]);
    place.replaceChildren(...[
      answer ? neighbors(answer, mine.decisions) : null, answer ? decisionForm(answer.word) : null, decisions(mine),
    ].flat(2).filter(Boolean));
  } catch (problem) {
    place.replaceChildren(...(word.trim() && problem.status === 404 ? decisionForm(word.trim()) : []));
    showProblem(problems, problem);
  }
}

/** Open the dialog, with the neighbours of a word. */
export function openWords(name, word, onchange) {
  index = name;
  changed = onchange;
  if (!dialog.open) dialog.showModal();
  return show(word);
}

byId("word-form").addEventListener("submit", (event) => {
  event.preventDefault();
  show(field.value);
});
field.addEventListener("input", () => {
  clearTimeout(timer);
  const prefix = field.value.trim();
  if (!prefix) return;
  timer = setTimeout(async () => {
    try {
      const found = await ask("POST", at(index, "suggest"), { prefix, k: 8 });
      byId("completions").replaceChildren(...found.words.map((one) => el("option", { value: one.word })));
    } catch {
      // Completions are a help only; the answer to the word itself tells what is wrong.
    }
  }, 120);
});
