// The page: what the address asks for is searched and shown; every control changes the address.

import * as address from "./address.js";
import { Problem, ask, at, resume, signIn, signOut, signedIn } from "./api.js";
import { byId, counted, el, number, short, showProblem, text } from "./dom.js";
import { list, nothing, showFacets } from "./hits.js";
import { openWords } from "./words.js";

const PAGE = 10;
const PAUSE = 150; // milliseconds without a key before a search while typing
const LONG_PAUSE = 600; // and before documents are counted for filters, which takes longer than a search
const TALL = ["title", "metadata", "snippet"];

let wanted = address.read();
let indexes = [];
let running = null;
let typing = 0;
let facetKeys = {}; // of each index
let counts = { of: "", index: null, facets: null }; // documents for each filter, and of which search

const input = byId("q");
const results = byId("results");
const current = () => indexes.find((one) => one.name === wanted.index || one.aliases.includes(wanted.index));

function filter() {
  const conditions = Object.entries(wanted.filters).map(([name, values]) => [escaped(name), { in: values }]);
  return conditions.length ? Object.fromEntries(conditions) : null;
}

/** Return the path of a key; dots would lead into objects, and some names are operators. */
function escaped(name) {
  const path = name.replace(/[\\.]/g, "\\$&");
  return ["any", "all", "not"].includes(path) ? `\\${path}` : path;
}

/** Return the metadata keys of an index whose values are few and short, by a look at some documents. */
async function keysOf(index) {
  if (!facetKeys[index]) {
    const sample = await ask("GET", `${at(index, "documents")}?k=30`);
    const values = new Map();
    for (const { metadata } of sample.documents) {
      for (const [name, value] of Object.entries(metadata)) {
        if (name === "title") continue; // the heading of a hit
        const flat = Array.isArray(value) ? value : [value];
        if (flat.every((one) => ["string", "number", "boolean"].includes(typeof one) && String(one).length < 60)) {
          values.set(name, [...(values.get(name) ?? []), ...flat]);
        }
      }
    }
    const telling = ([, found]) => found.length < 4 || new Set(found).size < found.length * 0.8;
    facetKeys[index] = [...values].filter(telling).map(([name]) => name).slice(0, 6);
  }
  return facetKeys[index];
}

function question() {
  return { q: wanted.q, correct: !wanted.written, syntax: wanted.operators };
}

/** Search what the address asks for; a later search ends this one. */
async function search({ typed = false } = {}) {
  running?.abort();
  const mine = (running = new AbortController());
  const { signal } = mine;
  byId("problem").replaceChildren();
  if (!wanted.index || !(wanted.q.trim() || wanted.like)) {
    welcome();
    return;
  }
  results.setAttribute("aria-busy", "true");
  try {
    const body = {
      ...question(), k: PAGE, offset: wanted.offset, where: filter(), fields: TALL,
    };
    const started = performance.now();
    let answer, plain = null;
    if (wanted.like) {
      answer = await ask("POST", at(wanted.index, "similar"), { id: wanted.like, k: 2 * PAGE, where: filter(), fields: TALL }, { signal });
    } else if (wanted.compare) {
      const pair = [body, { ...body, plain: true, correct: false }].map((one) => ({ ...one, index: wanted.index }));
      const both = await ask("POST", "search", { searches: pair }, { signal });
      for (const one of both.results) if (one.status) throw new Problem(one, one.status);
      [answer, plain] = both.results;
    } else {
      answer = await ask("POST", at(wanted.index, "search"), body, { signal });
    }
    if (signal.aborted) return;
    show(answer, plain, performance.now() - started);
    if (wanted.like || counts.index !== wanted.index) byId("facets").hidden = true;
    else if (!byId("facets").hidden) showFilters(); // ticks at once, counts when they come
    if (!wanted.like) showCounts(body, answer.commit, signal, typed ? LONG_PAUSE : 0);
  } catch (problem) {
    if (problem.name === "AbortError" || signal.aborted) return;
    results.replaceChildren();
    byId("status").replaceChildren();
    byId("pages").hidden = true;
    byId("facets").hidden = true;
    showProblem(byId("problem"), problem, { retry: search, signIn: openKey });
    if (problem.status === 401) openKey();
    if (!(problem instanceof Problem)) throw problem;
  } finally {
    if (running === mine) results.removeAttribute("aria-busy");
  }
}

/** Count the documents for filters in a request of its own: it takes longer than the search. */
async function showCounts(body, commit, signal, pause) {
  await new Promise((resume) => setTimeout(resume, pause));
  if (signal.aborted) return;
  const { index } = wanted;
  let facets = null, of = "";
  try {
    const names = await keysOf(index);
    const asked = { ...body, k: 0, offset: 0, fields: [], facets: names.map(escaped) };
    of = JSON.stringify([index, commit, asked]);
    if (of === counts.of && !byId("facets").hidden) return; // another page of the same hits
    if (names.length) facets = (await ask("POST", at(index, "search"), asked, { signal })).facets;
  } catch (problem) {
    if (problem.name !== "AbortError" && !(problem instanceof Problem)) throw problem;
    of = ""; // hits need no counts: filters can be removed without them
  }
  if (signal.aborted) return;
  counts = { of, index, facets: unescapedFacets(facets) };
  showFilters();
}

function showFilters() {
  showFacets(counts.facets, wanted.filters, (name, values) => {
    if (name === null) go({ filters: {}, offset: 0 });
    else {
      const { [name]: _, ...others } = wanted.filters;
      go({ filters: values.length ? { ...others, [name]: values } : others, offset: 0 });
    }
  });
}

/** Return what was searched for misspelt words, with a way back. */
function corrections(corrected) {
  const pairs = Object.entries(corrected);
  if (!pairs.length) return "";
  const back = el("button", { type: "button", class: "link", onclick: () => go({ written: true, offset: 0 }) }, "search as written");
  return [". Searched ", text(pairs.map(([word, other]) => `${other} for ${word}`).join(", ")), " (", back, ")"];
}

function show(answer, plain, milliseconds) {
  const context = { index: wanted.index, query: wanted.like ? null : question(), openLike, showWord };
  const full = answer.hits.length > 0;
  byId("status").replaceChildren(...[
    wanted.like ? ["Similar to ", text(wanted.like), ". "] : "",
    summary(answer, plain), `, in ${Math.max(1, Math.round(milliseconds))} ms`,
    full && answer.plan ? `, ranked by ${answer.plan.ranks}` : "",
    corrections(answer.corrected),
    answer.note && full ? [". ", text(answer.note)] : "",
    answer.outside.length ? [". In no document, found by similar words: ", text(answer.outside.join(", "))] : "",
    answer.unknown.length && full ? [`. Unknown, ${answer.plan?.ask === "words" ? "ignored" : "by meaning alone"}: `, text(answer.unknown.join(", "))] : "",
    chips("with", "\\+", answer.required), chips("without", "-", answer.excluded),
    answer.left_out.length ? `. ${counted(answer.left_out.length, "word")} of the query not used` : "",
    ".",
    full && !wanted.like ? el("span", { class: "legend" }, el("mark", { class: "exact" }, "exact"), " ", el("mark", { class: "near" }, "near")) : "",
  ].flat());
  if (plain) {
    const place = (hits) => new Map(hits.map((hit, number) => [hit.id, number + 1 + answer.offset]));
    const [soft, bare] = [place(answer.hits), place(plain.hits)];
    const rest = plain.total != null && !wanted.offset ? "not found by plain words" : "not here by plain words";
    const badge = (hit, number) => {
      const other = bare.get(hit.id);
      return other === undefined ? rest : other === answer.offset + number + 1 ? "" : `${other}. by plain words`;
    };
    const column = (title, found, more) => el("section", { "aria-label": title }, el("h2", {}, title),
      el("p", { class: "small" }, summary(found, null)),
      found.hits.length ? list(found, { ...context, ...more }) : nothing(found, replaceWord));
    results.replaceChildren(el("div", { class: "two" }, column("By meaning", answer, { badge }),
      column("By plain words", plain, {
        query: null, badge: (hit) => (soft.has(hit.id) ? "" : "not here by meaning"),
      })));
  } else {
    results.replaceChildren(el("h2", { class: "hidden" }, "Results"), full ? list(answer, context) : nothing(answer, replaceWord));
  }
  const longest = Math.max(answer.hits.length, plain?.hits.length ?? 0);
  const more = !wanted.like && longest === PAGE && !(answer.total != null && (!plain || plain.total != null));
  byId("pages").hidden = wanted.like !== null || (!wanted.offset && !more);
  byId("previous").disabled = !wanted.offset;
  byId("next").disabled = !more;
  byId("page-number").textContent = `Page ${wanted.offset / PAGE + 1}`;
}

/** Return a button for each operator of the query, which removes it. */
function chips(label, sign, clauses) {
  return clauses.flatMap((clause) => [" ", el("button", { type: "button", class: "badge", title: "Remove", onclick: () => {
    const phrase = clause.endsWith('"');
    const end = phrase ? "(\\^[\\d.]+)?" : "(\\^[\\d.]+[^\\s\\d]*)?(?!\\S)";
    const begin = phrase && sign !== "-" ? `${sign}?` : sign; // quotes alone require a phrase
    const q = wanted.q.replace(new RegExp(`(^|\\s+)${begin}${quoted(clause)}${end}`, "u"), "").trim();
    return go(q === wanted.q ? { operators: false, offset: 0 } : { q, offset: 0 });
  } }, `${label}: `, short(clause), " ✕")]);
}

const unescapedFacets = (facets) =>
  facets && Object.fromEntries(Object.entries(facets).map(([path, counts]) => [path.replace(/\\(.)/g, "$1"), counts]));

function summary(answer, plain) {
  const n = answer.hits.length;
  if (plain) return `${counted(n, "result")} by meaning, ${number(plain.hits.length)} by plain words on this page`;
  if (answer.total != null && answer.total === n) return counted(n, "result");
  if (!n) return wanted.offset ? "No further results" : "0 results";
  const range = `Results ${number(answer.offset + 1)} to ${number(answer.offset + n)}`;
  return answer.total == null ? (wanted.like ? range : `${range}, and more follow`) : `${range} of ${number(answer.total)}`;
}

function welcome() {
  const index = current();
  byId("status").replaceChildren();
  byId("pages").hidden = true;
  byId("facets").hidden = true;
  results.replaceChildren(el("div", { class: "empty" },
    index ? [el("p", {}, `${counted(index.documents, "document")}. Words match by what they mean.`),
      el("p", { class: "small" }, text(index.note))]
      : el("p", {}, indexes.length ? "Choose an index." : "This server has no index yet: softcosine index FILE -o FOLDER/NAME makes one.")));
}

/** Change what is shown. */
function go(change, { replace = false } = {}) {
  wanted = { ...wanted, ...change };
  address.write(wanted, { replace });
  controls();
  return search({ typed: replace });
}

function controls() {
  if (input.value !== wanted.q) input.value = wanted.q;
  for (const flag of address.FLAGS) byId(flag).checked = wanted[flag];
  byId("index").value = current()?.name ?? "";
  document.title = wanted.q ? `${wanted.q} – softcosine` : "softcosine";
}

async function openLike(id) {
  await go({ like: id, offset: 0, q: "" });
  scrollTo({ top: 0 });
  results.focus({ preventScroll: true });
}

function showWord(word) {
  openWords(wanted.index, word, search);
}

const quoted = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const replaceWord = (word, other) => go({ q: wanted.q.replace(new RegExp(quoted(word), "i"), () => other) });

function openKey() {
  if (!byId("key").open) byId("key").showModal();
}

async function openState() {
  byId("state").showModal();
  const place = byId("state-answer");
  let one;
  try {
    one = await ask("GET", at(wanted.index ?? ""));
  } catch (problem) {
    place.replaceChildren();
    showProblem(place, problem);
    return;
  }
  const facts = [
    ["Name", one.name], ["Aliases", one.aliases.join(", ") || "none"], ["Documents", number(one.documents)],
    ["Terms", number(one.terms)], ["Segments", number(one.segments)], ["Commit", `${one.generation}, ${one.commit.slice(0, 12)}`],
    ["Ranking", one.ranking], ["Language", one.language ?? "none"],
    ["Fields", one.fields.map((field) => `${field.name} × ${field.weight}`).join(", ")],
    ["Similar words", `${number(one.similarity.n_neighbors)} pairs of ${number(one.similarity.n_terms_with_neighbors)} terms`],
    ["Meaning", one.meaning ? `${one.meaning.encoder}, ${number(one.meaning.encoded)} documents` : "by words alone"],
    ["Note", one.note],
  ];
  place.replaceChildren(el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, text(value))])));
}

async function start() {
  byId("problem").replaceChildren();
  try {
    await resume();
    const name = signedIn();
    byId("sign").hidden = name === null;
    byId("sign").textContent = name ? "Sign out" : "Sign in";
    byId("sign").title = name ? `Signed in with the key ${name}` : "";
    if (name === "") throw new Problem({ title: "Signed out", detail: "This server is searched with a key." }, 401);
    const found = await ask("GET", "indexes");
    indexes = found.indexes;
    byId("index").replaceChildren(...indexes.map((one) => el("option", { value: one.name }, one.name)));
    if (found.broken.length) {
      showProblem(byId("problem"), { title: "Cannot be opened", message: `${found.broken.join(", ")}; the log of the server says why.` });
    }
    wanted.index ??= indexes[0]?.name ?? null;
    controls();
    const told = [...byId("problem").childNodes];
    await search();
    byId("problem").append(...told);
  } catch (problem) {
    showProblem(byId("problem"), problem, { retry: start, signIn: openKey });
    if (problem.status === 401) openKey();
  }
}

input.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => go({ q: input.value, like: null, offset: 0 }, { replace: true }), PAUSE);
});
byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  go({ q: input.value, like: null, offset: 0 });
});
for (const flag of address.FLAGS) {
  byId(flag).addEventListener("change", (event) => go({ [flag]: event.target.checked, offset: 0 }));
}
byId("index").addEventListener("change", (event) => {
  byId("facets").hidden = true;
  go({ index: event.target.value, filters: {}, like: null, offset: 0 });
});
for (const [id, step] of [["previous", -PAGE], ["next", PAGE]]) {
  byId(id).addEventListener("click", async () => {
    await go({ offset: Math.max(0, wanted.offset + step) });
    scrollTo({ top: 0 });
    results.focus({ preventScroll: true });
  });
}
byId("words-open").addEventListener("click", () => wanted.index && showWord(""));
byId("state-open").addEventListener("click", openState);
byId("sign").addEventListener("click", async () => {
  if (!signedIn()) return openKey();
  try {
    await signOut();
  } catch (problem) {
    if (problem.status !== 401) return showProblem(byId("problem"), problem);
  }
  location.reload();
});
byId("key-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  byId("key-problem").replaceChildren();
  try {
    await signIn(byId("key-value").value.trim());
  } catch (problem) {
    showProblem(byId("key-problem"), problem);
    return;
  }
  byId("key-value").value = "";
  byId("key").close();
  start();
});
for (const button of document.querySelectorAll("dialog .close")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input:not([type=checkbox]), select, textarea, dialog");
  if (event.key === "/" && !writing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    input.focus();
    input.select();
  }
});
addEventListener("popstate", () => {
  wanted = address.read();
  wanted.index ??= indexes[0]?.name ?? null;
  controls();
  search();
});

start();
