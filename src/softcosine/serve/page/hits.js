// Hits: the passage with its marks, facts, and the pairs of words of a score.

import { ask, at } from "./api.js";
import { byId, counted, el, number, score, short, showProblem, text } from "./dom.js";

const MOST_PARTS = 12;
const MOST_CHARACTERS = 20000;

/** Return a passage; marks count code points, strings of JavaScript count UTF-16 units. */
function passage({ text: content, marks }) {
  const characters = Array.from(content);
  const piece = (begin, end) => text(characters.slice(begin, end).join(""));
  const shown = [];
  let end = 0;
  for (const mark of marks) {
    const title = mark.kind === "exact" ? "a word of the query" : "similar to a word of the query";
    shown.push(piece(end, mark.start), el("mark", { class: mark.kind, title }, piece(mark.start, mark.end)));
    end = mark.end;
  }
  return el("p", { class: "passage", dir: "auto" }, shown, piece(end));
}

const KINDS = [["same", "same words"], ["similar", "similar words"], ["meaning", "meaning"]];

/** Return what a score consists of: three sums, a row for each word, and all pairs when opened. */
export function why(explanation, showWord) {
  const whole = Math.max(explanation.score, 1e-12);
  const word = (name) => /^[\p{L}\p{N}]/u.test(name)
    ? el("button", { type: "button", class: "link", onclick: () => showWord(name) }, short(name, 40)) : short(name);
  const bar = (amounts) => el("div", { class: "track", "aria-hidden": "true" }, amounts.map(([kind, amount]) =>
    el("i", { class: amount < 0 ? `${kind} less` : kind, style: { width: `${Math.min(100, 100 * Math.abs(amount) / whole)}%` } })));
  const sums = KINDS.filter(([, name]) => name in explanation.sums);
  const rows = explanation.words.map((share) => el("tr", {},
    el("th", { scope: "row" }, word(share.word)),
    el("td", { class: "bars" }, bar(KINDS.map(([kind]) => [kind, share[kind]]))),
    el("td", { class: "number" }, score(share.contribution)),
    el("td", {}, share.partners.map((partner, number) => [number ? ", " : "", word(partner)]),
      share.fields.length ? el("span", { class: "soft" }, " in ", text(share.fields.join(", "))) : null)));
  const sign = (part) => part.space === "meaning" ? " ≈ " : part.exact ? " = " : " ~ ";
  const pairs = explanation.parts.slice(0, MOST_PARTS).map((part) => el("li", {},
    word(part.query_word), sign(part), word(part.document_word),
    part.field ? el("span", { class: "soft" }, " in ", text(part.field)) : null, ` ${score(part.contribution)}`));
  const left = explanation.parts.length - pairs.length;
  return el("div", { class: "why" },
    bar(sums.map(([kind, name]) => [kind, explanation.sums[name]])),
    el("p", {}, sums.map(([kind, name], number) =>
      [number ? ", " : "", el("span", { class: kind }, `${name} ${score(explanation.sums[name])}`)])),
    el("table", {}, el("caption", {}, "What each word of the query adds"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "query"), el("td", { class: "bars" }),
        el("th", { scope: "col", class: "number" }, "points"), el("th", { scope: "col" }, "in the document"))),
      el("tbody", {}, rows),
      el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "Score"), el("td", { class: "bars" }),
        el("td", { class: "number" }, score(explanation.score)), el("td", {})))),
    explanation.passage ? el("p", { class: "small", dir: "auto" }, "Nearest sentence: ", short(explanation.passage, 300)) : null,
    el("details", {}, el("summary", {}, "All pairs of words"), el("ul", { class: "pairs" }, pairs),
      left > 0 ? el("p", { class: "small" }, `and ${counted(left, "smaller pair")}`) : null));
}

function facts(metadata, title) {
  const entries = Object.entries(metadata ?? {}).filter(([name, value]) => name !== "title" || value !== title);
  if (!entries.length) return null;
  const shown = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : String(value));
  return el("ul", { class: "facts" }, entries.slice(0, 8).map(([name, value]) => {
    const full = shown(value);
    return el("li", { title: full.length > 80 ? full.slice(0, 500) : null },
      short(name), ": ", short(full));
  }));
}

/** Return a button that opens and closes what `make` returns, made at the first time. */
function opener(label, place, make) {
  let made = null;
  const button = el("button", { type: "button", class: "quiet", "aria-expanded": "false" }, label);
  button.addEventListener("click", async () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    if (made) made.hidden = !open;
    if (made || !open) return;
    made = el("div");
    place.append(made);
    try {
      made.append(await make());
    } catch (problem) {
      showProblem(made, problem);
      const failed = made;
      made = null;
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => failed.remove(), { once: true });
    }
  });
  return button;
}

async function whole(index, id) {
  const found = await ask("GET", at(index, "documents", id));
  const make = (end) => el("div", { class: "whole", dir: "auto", tabindex: "0", role: "region", "aria-label": "Whole text" },
    text(found.text.slice(0, end)));
  if (found.text.length <= MOST_CHARACTERS) return make();
  const shown = el("div", {}, make(MOST_CHARACTERS));
  shown.append(el("button", { type: "button", class: "link", onclick: () => shown.replaceChildren(make()) },
    `The other ${number(found.text.length - MOST_CHARACTERS)} characters`));
  return shown;
}

/** Return a hit. */
function item(hit, rank, { index, query, badge, openLike, showWord }) {
  const below = el("div");
  const title = hit.title && hit.title !== hit.snippet?.text ? hit.title : "";
  const actions = [];
  if (query) {
    actions.push(opener("Why", below, async () => why(await ask("POST", at(index, "explain"), { ...query, id: hit.id }), showWord)));
  }
  actions.push(
    el("button", { type: "button", class: "quiet", onclick: () => openLike(hit.id) }, "Similar to this"));
  if (title || /^…|…$/.test(hit.snippet?.text ?? "…")) {
    actions.push(opener("Whole text", below, () => whole(index, hit.id)));
  }
  return el("li", {}, el("article", { class: "hit" },
    el("div", { class: "top" },
      el("h3", {}, el("span", { class: "soft" }, `${rank}. `), short(title || hit.id, 300)),
      badge ? el("span", { class: "badge" }, badge) : null,
      el("span", { class: "score", title: "score" }, score(hit.score))),
    hit.snippet?.text ? passage(hit.snippet) : null,
    title ? el("ul", { class: "facts" }, el("li", {}, "id: ", short(hit.id))) : null,
    facts(hit.metadata, title),
    el("div", { class: "actions" }, actions),
    below));
}

/** Return the list of hits; `badge` returns a short remark on one. */
export function list(answer, context) {
  return el("ol", { class: "hits", start: answer.offset + 1 }, answer.hits.map((hit, number) =>
    item(hit, answer.offset + number + 1, { ...context, badge: context.badge?.(hit, number) })));
}

/** Return what a page says where nothing is found. */
export function nothing(answer, choose) {
  const others = answer.suggestions.flatMap((one) => one.candidates.slice(0, 3).map((candidate) => [one.word, candidate.word]));
  return el("div", { class: "empty" }, el("p", {}, "Nothing found."),
    answer.unknown.length ? el("p", {}, "No document and no source has: ", text(answer.unknown.join(", ")), ".") : null,
    others.length ? el("p", {}, "Did you mean ", others.map(([word, other], number) => [number ? ", " : "",
      el("button", { type: "button", class: "link", onclick: () => choose(word, other) }, text(other))]), "?") : null);
}

/** Show the values of facets as boxes to tick; without facets, only what is chosen. */
export function showFacets(facets, filters, change) {
  const place = byId("facets");
  const groups = Object.entries(facets ?? Object.fromEntries(Object.keys(filters).map((name) => [name, []]))).map(([name, counts]) => {
    const chosen = filters[name] ?? [];
    const missing = chosen.filter((value) => !counts.some((one) => one.value === value)).map((value) => ({ value, n_docs: facets && 0 }));
    const telling = counts.length > 1 || chosen.length;
    const scattered = counts.length > 30 && counts[0].n_docs < 3;
    if (!telling || (scattered && !chosen.length)) return null;
    return el("fieldset", {}, el("legend", {}, short(name)), [...missing, ...counts].slice(0, 10).map((one) => {
      const box = el("input", { type: "checkbox", name, value: one.value, checked: chosen.includes(one.value) });
      box.addEventListener("change", () => {
        const others = chosen.filter((value) => value !== one.value);
        change(name, box.checked ? [...others, one.value] : others);
      });
      return el("label", { class: "switch" }, box, el("span", {}, short(one.value)), one.n_docs === null ? null : el("b", {}, number(one.n_docs)));
    }), counts.length > 10 ? el("p", { class: "small" }, `and ${number(counts.length - 10)} more values`) : null);
  }).filter(Boolean);
  place.hidden = !groups.length;
  const clear = Object.keys(filters).length
    ? el("button", { type: "button", class: "link", onclick: () => change(null) }, "Remove all filters") : null;
  // Closed at first on a narrow screen, where the hits would be far below.
  const was = place.querySelector("details");
  const open = was ? was.open : matchMedia("(min-width: 46rem)").matches;
  const before = place.querySelector("input:focus"); // somebody who ticks by keyboard stays there
  place.replaceChildren(el("details", { open }, el("summary", {}, "Filters"), groups, clear));
  [...place.querySelectorAll("input")].find((box) => box.name === before?.name && box.value === before.value)?.focus();
}
