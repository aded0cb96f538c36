// What is shown, as the fragment of the address: it can be linked, and no log of a server or proxy
// has the query, because browsers do not send fragments.

export const FLAGS = ["compare", "operators", "written"];

/** Return what an address asks for. */
export function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const wanted = { index: given.get("index"), q: given.get("q") ?? "", like: given.get("like") };
  wanted.offset = Math.max(0, parseInt(given.get("offset"), 10) || 0);
  for (const flag of FLAGS) wanted[flag] = given.get(flag) === "1";
  wanted.filters = {};
  try {
    const filters = JSON.parse(given.get("filters") ?? "{}");
    for (const [name, values] of Object.entries(filters)) {
      if (Array.isArray(values) && values.length) wanted.filters[name] = values;
    }
  } catch {
    // An address that was cut off has no filters.
  }
  return wanted;
}

/** Put what is shown into the address; typing replaces an entry of the history, choices add one. */
export function write(wanted, { replace = false } = {}) {
  const given = new URLSearchParams();
  for (const name of ["index", "q", "like"]) if (wanted[name]) given.set(name, wanted[name]);
  if (wanted.offset) given.set("offset", wanted.offset);
  for (const flag of FLAGS) if (wanted[flag]) given.set(flag, "1");
  if (Object.keys(wanted.filters).length) given.set("filters", JSON.stringify(wanted.filters));
  const hash = `#${given}`;
  if (hash !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", hash);
}
