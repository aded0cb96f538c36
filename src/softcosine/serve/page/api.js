// Requests to /v1, and the key they carry.

const KEY = "softcosine-key";

/** An answer that is a problem (RFC 9457). */
export class Problem extends Error {
  constructor(record, status, retryAfter) {
    super(record.detail);
    this.title = record.title;
    this.status = status;
    this.kind = (record.type ?? "").replace("urn:softcosine:", "");
    this.instance = record.instance;
    this.retryAfter = retryAfter;
  }
}

/** The key of this tab; other tabs, and the disk of a closed browser, never have it. */
export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** Return the answer of a route, or throw its Problem. */
export async function ask(method, path, body, { signal } = {}) {
  const headers = {};
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`v1/${path}`, {
      method, headers, signal, cache: "no-store", credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "No answer", detail: "The server does not answer; it may be stopped." }, 0);
  }
  const text = await answer.text();
  let record = null;
  try {
    record = text ? JSON.parse(text) : null;
  } catch {
    record = { title: `Status ${answer.status}`, detail: "The answer is no JSON; a proxy may have sent it." };
    throw new Problem(record, answer.status);
  }
  if (!answer.ok) {
    throw new Problem(record ?? {}, answer.status, answer.headers.get("Retry-After"));
  }
  return record;
}

/** Return the path of something of an index. */
export const at = (index, ...parts) => ["indexes", index, ...parts].map(encodeURIComponent).join("/");
