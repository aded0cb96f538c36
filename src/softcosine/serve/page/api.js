// Requests to the server, and the session that they belong to.

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

// The key itself is in a cookie that no script can read. The token is that of this session's changes.
let session = { keys: false, key: null, scopes: [], token: null };

/** Return whether this page may search, write or administer. */
export const may = (scope) => session.scopes.includes(scope);

/** Return whose session this is: null if the server has no keys, "" before signing in. */
export const signedIn = () => (session.keys ? session.key ?? "" : null);

export const resume = async () => { session = await send("GET", "session"); };
export const signIn = async (key) => { session = await send("POST", "session", { key }); };
export const signOut = () => send("DELETE", "session");

async function send(method, path, body, { signal, prefer } = {}) {
  const headers = {};
  if (session.token) headers["X-CSRF-Token"] = session.token;
  if (prefer) headers.Prefer = prefer;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method, headers, signal, cache: "no-store", credentials: "same-origin",
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

/** Return the answer of a route, or throw its Problem. */
export const ask = (method, path, body, options) => send(method, `v1/${path}`, body, options);

/** Return the result of a task after its end, or throw its Problem; `told` gets its state until then. */
export async function ended(task, told) {
  for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
    const one = await ask("GET", `tasks/${task.id}`);
    if (one.state === "done") return one.result;
    if (one.problem) throw new Problem(one.problem, one.problem.status);
    if (one.state !== "waiting" && one.state !== "running") {
      const detail = one.state === "cancelled" ? "The change was cancelled; nothing was changed."
        : "The server ended during the change; reload the page to see whether it was made.";
      throw new Problem({ title: "Not done", detail }, 0);
    }
    told(one);
    await new Promise((resume) => setTimeout(resume, pause));
  }
}

/** Return the path of something of an index. */
export const at = (index, ...parts) => ["indexes", index, ...parts].map(encodeURIComponent).join("/");
