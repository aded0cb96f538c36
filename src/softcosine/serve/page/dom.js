// Elements from text. Nothing of an answer ever becomes markup: strings are text nodes.

/** Return an element by its id. */
export const byId = (id) => document.getElementById(id);

/** Return a new element; `on...` are listeners, booleans are attributes without a value. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return made;
}

// Characters that reorder the text around them are shown by their code point.
const REORDERING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const coded = (found) => `⟨U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Return a text of a document, isolated in its own direction. */
export const text = (value) => el("bdi", {}, String(value).replace(REORDERING, coded));

/** Return the beginning of a text; a word can have a megabyte. */
export const short = (value, most = 80) => {
  const whole = String(value);
  return text(whole.length > most ? `${whole.slice(0, most)}…` : whole);
};

/** Return a number as a person reads it. */
export const number = (value) => Number(value).toLocaleString("en");
export const score = (value) => (Math.abs(value) < 10 ? value.toFixed(3) : value.toFixed(2));

/** Return a count with its noun. */
export const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Show a problem with what can be done about it. */
export function showProblem(place, problem, { retry, signIn } = {}) {
  const repairs = [];
  if (problem.status === 401 && signIn) {
    repairs.push(el("button", { type: "button", onclick: signIn }, "Sign in"));
  } else if (retry && (problem.status === 0 || problem.status === 429 || problem.status >= 500)) {
    repairs.push(el("button", { type: "button", onclick: retry }, "Try again"));
  }
  const trace = problem.instance ? el("span", { class: "small" }, ` Request ${problem.instance}.`) : null;
  place.replaceChildren(
    el("div", { class: "notice" },
      el("strong", {}, problem.title ?? "Error in this page"), ": ", text(problem.message), trace,
      repairs.length ? el("div", {}, repairs) : null),
  );
}
