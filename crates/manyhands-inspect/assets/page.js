// The page of `manyhands inspect`: shows what comes from its own address, as text.
import { compare, download, element } from "./words.js";
import { asTree, hasState, locksOf, tables } from "./tables.js";
import { difference, fromLines, toLines } from "./snapshot.js";
import { drawPicture, savePng, saveSvg } from "./picture.js";

const byId = (id) => document.getElementById(id);

// The token stays in this tab: it is taken out of the address, so that it is in no history and no bookmark.
const token = (() => {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  return given || sessionStorage.getItem("token") || "";
})();

const pictures = ["stacks", "threads"];
// In the order of their keys.
const tabs = ["tasks", "workers", "loops", "channels", ...pictures, "why"];
const headers = { Authorization: `Bearer ${token}` };
const shown = {
  tab: "tasks",
  sorting: Object.fromEntries(Object.keys(tables).map((name) => [name, { column: 0, isDown: false }])),
  isPaused: false,
  // Whether all pages hold still; null if this may not be changed.
  held: null,
  isTree: false,
  // The state of the tasks that are shown; "": all.
  state: "",
  onlyFlagged: false,
  flagged: new Set(),
  row: 0,
  // The number of the task that somebody has chosen.
  chosen: null,
  scale: 1,
  // What the program has shown last.
  last: null,
  // What threads run, when that was asked for last.
  threads: null,
  // Which workers waited for locks of other crates then.
  locks: [],
  // The functions of each picture, when they were asked for last.
  methods: { stacks: { list: [], left: 0 }, threads: { list: [], left: 0 } },
  // The function in the middle of each picture; "": all of them.
  method: { stacks: "", threads: "" },
  // The view that others are compared with, when it was, and the button that has chosen it.
  earlier: null,
};
const rowsAtFirst = 100;
const changeColumn = { title: "Change", of: (task) => task.change ?? "" };
const flagColumn = { title: "⚑", of: (task) => (shown.flagged.has(task.number) ? 0 : 1), isFlag: true };

function columnsOf(name) {
  if (name !== "tasks") return tables[name].columns;
  return [flagColumn, changeColumn, ...tables.tasks.columns];
}

// Columns that mostly have nothing in them are there from the first time that one has. A column keeps its number while others
// come and go, so the focus and the order stay with it.
const seldom = new Set();
const isShown = (column) => (column === changeColumn ? shown.earlier !== null : !column.isSeldom || seldom.has(column));

function textOf(column, row) {
  const value = column.of(row);
  if (column.isFlag) return "";
  return column.show ? column.show(value) : String(value);
}

// The rows that are shown, in order, and of how many.
function rowsOf(name) {
  const table = tables[name];
  const columns = columnsOf(name);
  const { view } = shown.last;
  const isCompared = name === "tasks" && shown.earlier !== null;
  const all = table.rows(isCompared ? { ...view, tasks: difference(shown.earlier.view, view) } : view, shown.locks);
  const part = filterText();
  const texts = (column, row) => `${column.isFlag ? "" : column.of(row)}\n${textOf(column, row)}`;
  const contains = (row) => columns.some((column) => texts(column, row).toLowerCase().includes(part));
  const isFlagged = (row) => name !== "tasks" || !shown.onlyFlagged || shown.flagged.has(row.number);
  const isInState = (row) => name !== "tasks" || shown.state === "" || hasState(row, shown.state);
  const rows = all.filter((row) => isInState(row) && isFlagged(row) && (part === "" || contains(row)));
  const { column, isDown } = shown.sorting[name];
  const of = (columns[column] ?? columns[0]).of;
  rows.sort((one, other) => (isDown ? -1 : 1) * compare(of(one), of(other)));
  const isTree = name === "tasks" && shown.isTree;
  return { rows: isTree ? asTree(rows) : rows, count: all.length + (table.more?.(view) ?? 0) };
}

function cell(column, row) {
  const value = column.of(row);
  if (column.isBar && value !== "") {
    const made = element("td");
    const percent = `${Math.floor(100 * value)} %`;
    made.append(element("progress", percent, { max: "1", value: String(value) }), ` ${percent}`);
    return made;
  }
  if (column.isFlag) {
    const isFlagged = shown.flagged.has(row.number);
    const made = element("td", undefined, { class: "flag" });
    const label = `flag task ${row.number}`;
    const attributes = { type: "button", tabindex: "-1", "aria-pressed": String(isFlagged), "aria-label": label };
    const button = element("button", isFlagged ? "⚑" : "⚐", attributes);
    button.addEventListener("click", () => flag(row.number));
    made.append(button);
    return made;
  }
  // What is cut off, or shortened, is there when it is pointed at.
  const attributes = typeof value === "number" ? { class: "number" } : { title: String(value) };
  if (column.isProse) attributes.class = "prose";
  const made = element("td", textOf(column, row), attributes);
  if (column.isTree && row.depth > 0) made.prepend("\u00a0\u00a0".repeat(row.depth - 1), "└ ");
  return made;
}

function heading(name, rows) {
  const row = element("tr");
  columnsOf(name).forEach((column, index) => {
    if (!isShown(column)) return;
    const isNumber = !column.isFlag && !column.isBar && rows.some((row) => typeof column.of(row) === "number");
    const sorting = shown.sorting[name];
    const isSorted = sorting.column === index;
    const direction = isSorted ? (sorting.isDown ? "descending" : "ascending") : "none";
    const head = element("th", undefined, { scope: "col", "aria-sort": direction, class: isNumber ? "number" : "" });
    const button = element("button", column.title, { type: "button", "data-column": String(index) });
    button.addEventListener("click", () => {
      shown.sorting[name] = { column: index, isDown: isSorted && !sorting.isDown };
      draw();
    });
    head.append(button);
    row.append(head);
  });
  const head = element("thead");
  head.append(row);
  return head;
}

function drawTable(name) {
  const table = tables[name];
  const panel = byId(`panel-${name}`);
  const active = panel.contains(document.activeElement) ? document.activeElement : null;
  const column = active?.dataset.column;
  const isRow = active?.tagName === "TR";
  const key = active?.dataset.key;
  const { rows, count } = rowsOf(name);
  if (count === 0) {
    panel.replaceChildren(element("p", table.empty, { class: "empty" }));
    return;
  }
  const columns = columnsOf(name);
  for (const column of columns) if (column.isSeldom && rows.some((row) => column.of(row) !== "")) seldom.add(column);
  const made = element("table");
  const part = rows.length === count ? "" : `${rows.length} of `;
  made.append(element("caption", `${part}${count} row${count === 1 ? "" : "s"}`), heading(name, rows));
  // The focus stays with the task, wherever it has moved.
  const moved = key === undefined ? -1 : rows.findIndex((row) => table.key?.(row) === key);
  shown.row = Math.min(moved < 0 ? shown.row : moved, Math.max(rows.length - 1, 0));
  const body = element("tbody");
  // A browser takes a while to lay out a long table, above all the first one. So at first there are those rows that fill a
  // window, and all of them as soon as that is seen.
  const isFirst = panel.querySelector("table") === null;
  const drawn = isFirst ? rows.slice(0, rowsAtFirst) : rows;
  if (drawn.length < rows.length) requestAnimationFrame(() => requestAnimationFrame(draw));
  drawn.forEach((row, index) => {
    const kinds = { alarm: table.alarm?.(row), gone: row.change === "gone" };
    const classes = Object.keys(kinds).filter((kind) => kinds[kind]).join(" ");
    const line = element("tr", undefined, { class: classes, tabindex: index === shown.row ? "0" : "-1" });
    if (table.key) {
      line.dataset.key = table.key(row);
      line.setAttribute("aria-selected", String(line.dataset.key === shown.chosen));
    }
    line.append(...columns.filter(isShown).map((column) => cell(column, row)));
    body.append(line);
  });
  made.append(body);
  panel.replaceChildren(made);
  if (column !== undefined) (panel.querySelector(`[data-column="${column}"]`) ?? panel).focus();
  if (isRow) body.children[shown.row]?.focus({ preventScroll: true });
}

function draw() {
  for (const name of tabs) {
    const tab = byId(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === shown.tab));
    tab.tabIndex = name === shown.tab ? 0 : -1;
    byId(`panel-${name}`).hidden = name !== shown.tab;
  }
  for (const tool of document.querySelectorAll("[data-for]")) tool.hidden = !tool.dataset.for.split(" ").includes(shown.tab);
  byId("pause").setAttribute("aria-pressed", String(shown.isPaused));
  byId("hold").hidden = shown.held === null;
  byId("poll").hidden ||= shown.held === null;
  byId("hold").setAttribute("aria-pressed", String(shown.held === true));
  byId("held").hidden = shown.held !== true;
  byId("tree").setAttribute("aria-pressed", String(shown.isTree));
  byId("flagged").setAttribute("aria-pressed", String(shown.onlyFlagged));
  for (const name of ["mark", "compare"]) byId(name).setAttribute("aria-pressed", String(shown.earlier?.by === name));
  if (pictures.includes(shown.tab)) listMethods();
  if (shown.tab === "threads") drawThreads();
  if (shown.last === null) return;
  const { deadlocks, starvations } = shown.last.view;
  const alarms = [...deadlocks, ...starvations].map((alarm) => element("pre", alarm.text));
  byId("deadlocks").replaceChildren(...alarms);
  if (shown.tab === "stacks") drawPicture(byId("panel-stacks"), picture(), shown.scale, wanted());
  else if (shown.tab !== "threads") drawTable(shown.tab);
  allowPoll();
}

const filterText = () => byId("filter").value.trim().toLowerCase();

// What a picture is to show.
const wanted = () => ({ text: filterText(), state: shown.state, numbers: shown.onlyFlagged ? shown.flagged : null });

function drawThreads() {
  const panel = byId("panel-threads");
  if (shown.threads === null) return;
  const graph = picture();
  if (graph === undefined) panel.replaceChildren();
  else drawPicture(panel, graph, shown.scale, wanted());
  panel.prepend(element("p", shown.threads.text, { class: "empty" }));
}

// That of the chosen function, or of all if there is none or nobody is in it any more.
function picture() {
  const name = shown.tab;
  const chosen = shown.methods[name].list.find((method) => method.function === shown.method[name]);
  const whole = { stacks: shown.last, threads: shown.threads }[name];
  return chosen?.graph ?? whole?.graph;
}

// The functions to choose from. The chosen one stays even if nobody is in it any more.
function listMethods() {
  const select = byId("method");
  const { list, left } = shown.methods[shown.tab];
  const chosen = shown.method[shown.tab];
  const options = [["", "all functions"]];
  for (const { function: name, count } of list) options.push([name, `${count} × ${name}`]);
  if (chosen !== "" && !list.some((method) => method.function === chosen)) options.push([chosen, `0 × ${chosen}`]);
  const made = options.map(([value, text]) => element("option", text, { value }));
  if (left > 0) made.push(element("option", `and ${left} more`, { disabled: "" }));
  const texts = (list) => [...list].map((option) => option.textContent).join("\n");
  // A list that is open would close.
  if (texts(select.options) !== texts(made)) select.replaceChildren(...made);
  select.value = chosen;
}

// The functions of tasks go on with the tasks, but not more often than once in a second.
async function lookAtTasks() {
  const { list } = shown.methods.stacks;
  if (performance.now() - lookAtTasks.at < 1000 || (shown.isPaused && list.length > 0)) return;
  lookAtTasks.at = performance.now();
  const answer = await fetch("methods", { headers });
  if (!answer.ok) throw new Error(await answer.text());
  const { methods, methods_left_out: left } = await answer.json();
  shown.methods.stacks = { list: methods, left };
  draw();
}
lookAtTasks.at = -Infinity;

// The program's threads are interrupted for it, so it is asked only when somebody wants to see them.
async function lookAtThreads() {
  try {
    const answer = await fetch("threads", { headers });
    const text = await answer.text();
    const seen = answer.ok ? JSON.parse(text) : { error: text };
    const at = `${seen.threads} thread${seen.threads === 1 ? "" : "s"} at ${clock()}`;
    shown.threads = seen.error === undefined ? { graph: seen.graph, text: at } : { text: seen.error };
    shown.methods.threads = { list: seen.methods ?? [], left: seen.methods_left_out ?? 0 };
    shown.locks = locksOf(seen.lock_waits ?? [], shown.last?.view.runtimes ?? []);
  } catch (error) {
    shown.threads = { text: error.message };
    shown.methods.threads = { list: [], left: 0 };
  }
  draw();
}

const chosenTask = () => byId("panel-tasks").querySelector("tbody tr[aria-selected='true']")?.dataset.key;
// Without a chosen task there is none to poll.
const allowPoll = () => (byId("poll").disabled = chosenTask() === undefined);

// The chosen task is polled once more, to see where it waits. It takes that for a wake.
async function pollTask() {
  const number = chosenTask();
  if (shown.tab !== "tasks" || shown.held === null || number === undefined) return;
  const answer = await fetch(`poll?task=${number}`, { method: "POST", headers });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  byId("polled").querySelector("pre").textContent = text;
  byId("polled").hidden = false;
}

function say(text, isLost) {
  const status = byId("status");
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle("lost", isLost);
}

function summary({ process, view }) {
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  const all = view.tasks.length + view.tasks_left_out;
  const parts = [
    `process ${process}`,
    count(all, "task"),
    count(view.loops.length, "running loop"),
    count(view.channels.length + view.channels_left_out, "channel"),
  ];
  if (shown.earlier !== null) {
    const changes = difference(shown.earlier.view, view).map((task) => task.change);
    const number = (change) => changes.filter((one) => one === change).length;
    const counts = [`${number("new")} new`, `${number("gone")} gone`, `${number("went on")} went on`];
    parts.push(`since ${shown.earlier.at}: ${counts.join(", ")}, ${number("has not moved")} not moved`);
  }
  return parts.join(" · ");
}

function receive(text) {
  const seen = JSON.parse(text);
  if (seen.error !== undefined) {
    say(seen.error, true);
    return;
  }
  if (seen.part !== undefined) {
    receivePart(seen.part);
    return;
  }
  const isNews = shown.held !== seen.held;
  shown.held = seen.held;
  if (shown.isPaused) {
    if (isNews) draw();
    return;
  }
  shown.last = seen;
  say(summary(seen), false);
  draw();
  if (shown.tab === "stacks") act("methods");
}

// What has changed since everything was shown last.
function receivePart({ tasks, gone, ...others }) {
  if (shown.isPaused || shown.last === null) return;
  const before = shown.last.view;
  const ended = new Set(gone);
  const changed = new Map(tasks.map((task) => [task.number, task]));
  const kept = before.tasks.filter((task) => !ended.has(task.number));
  const now = kept.map((task) => changed.get(task.number) ?? task);
  for (const task of kept) changed.delete(task.number);
  shown.last = { ...shown.last, view: { ...before, ...others, tasks: [...now, ...changed.values()] } };
  say(summary(shown.last), false);
  if (!["tasks", "workers", "loops"].includes(shown.tab)) return;
  // A large table is not drawn so often that the page does nothing else.
  const begun = performance.now();
  if (begun < receivePart.next) return;
  draw();
  const end = performance.now();
  receivePart.next = end + 3 * (end - begun);
}
receivePart.next = -Infinity;

// Server-sent events, read by `fetch`, because `EventSource` sends no header and so no token.
async function listen() {
  const answer = await fetch("events", { headers });
  if (!answer.ok) throw new Error(await answer.text());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the server has ended");
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length > 0) receive(data.map((line) => line.slice(5).trimStart()).join("\n"));
    }
  }
}

async function listenAlways() {
  for (;;) {
    try {
      await listen();
    } catch (error) {
      say(`not connected: ${error.message}`, true);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

function choose(name) {
  shown.tab = name;
  shown.row = 0;
  draw();
  if (name === "stacks") act("methods");
  if (name === "threads" && shown.threads === null) lookAtThreads();
}

function change(part, value) {
  shown[part] = value;
  if (shown.last !== null) say(summary(shown.last), false);
  draw();
}

function flag(number) {
  if (!shown.flagged.delete(number)) shown.flagged.add(number);
  draw();
}

const clock = () => new Date().toLocaleTimeString();
const actions = {
  pause: () => change("isPaused", !shown.isPaused),
  tree: () => change("isTree", !shown.isTree),
  flagged: () => change("onlyFlagged", !shown.onlyFlagged),
  mark: () => {
    const isOn = shown.earlier?.by !== "mark" && shown.last !== null;
    change("earlier", isOn ? { by: "mark", view: shown.last.view, at: clock() } : null);
  },
  larger: () => change("scale", Math.min(shown.scale * 1.25, 4)),
  smaller: () => change("scale", Math.max(shown.scale / 1.25, 0.2)),
  // The server says to all pages what has become of it.
  hold: async () => {
    if (shown.held === null) return;
    const answer = await fetch(shown.held ? "release" : "hold", { method: "POST", headers });
    if (!answer.ok) throw new Error(await answer.text());
  },
  poll: pollTask,
  close: () => (byId("polled").hidden = true),
  look: lookAtThreads,
  methods: lookAtTasks,
  "save-svg": () => picture() && saveSvg(picture()),
  "save-png": () => picture() && savePng(picture()),
  "save-snapshot": () => {
    if (shown.last === null) return;
    const blob = new Blob([toLines(shown.last.view)], { type: "application/x-ndjson" });
    download("snapshot.ndjson", blob);
  },
  timeline: async () => {
    const button = byId("timeline");
    if (button.disabled) return;
    button.disabled = true;
    try {
      const answer = await fetch("timeline", { headers });
      if (!answer.ok) throw new Error(await answer.text());
      download("timeline.json", await answer.blob());
    } finally {
      button.disabled = false;
    }
  },
  theme: () => {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme ?? (isDark ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  },
  compare: () => (shown.earlier?.by === "compare" ? change("earlier", null) : byId("earlier").click()),
};

async function act(name) {
  try {
    await actions[name]();
  } catch (error) {
    say(`${name}: ${error.message}`, true);
  }
}

// A snapshot of a file takes the place of the one that others are compared with.
byId("earlier").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  if (file === undefined) return;
  try {
    const view = fromLines(await file.text());
    // A task that cannot be shown would take the table away with it.
    for (const row of tables.tasks.rows(view)) for (const column of tables.tasks.columns) cell(column, row);
    change("earlier", { by: "compare", view, at: file.name });
  } catch (error) {
    say(`${file.name}: ${error.message}`, true);
  }
});

function moveRow(step) {
  const rows = byId(`panel-${shown.tab}`).querySelectorAll("tbody tr");
  if (rows.length === 0) return;
  rows[shown.row]?.setAttribute("tabindex", "-1");
  // The first key chooses the row that is there.
  const from = rows[shown.row]?.contains(document.activeElement) ? shown.row + step : shown.row;
  shown.row = Math.max(0, Math.min(rows.length - 1, from));
  rows[shown.row].setAttribute("tabindex", "0");
  rows[shown.row].focus();
}

// A row is chosen by a key or a click, and stays so.
document.addEventListener("focusin", ({ target }) => {
  const row = target.closest?.("tr[data-key]");
  if (!row) return;
  const rows = [...row.parentNode.children];
  for (const other of rows) other.setAttribute("aria-selected", String(other === row));
  shown.row = rows.indexOf(row);
  shown.chosen = row.dataset.key;
  allowPoll();
});

const keys = {
  "/": () => byId("filter").focus(),
  p: () => act("pause"),
  z: () => act("hold"),
  t: () => act("tree"),
  g: () => act("flagged"),
  m: () => act("mark"),
  v: () => pictures.includes(shown.tab) && byId("method").focus(),
  s: () => ["tasks", "stacks"].includes(shown.tab) && byId("state").focus(),
  o: () => act("poll"),
  Escape: () => act("close"),
  r: () => ["threads", "workers"].includes(shown.tab) && act("look"),
  l: () => byId("timeline").hidden || act("timeline"),
  "+": () => act("larger"),
  "-": () => act("smaller"),
  f: () => {
    const row = document.activeElement?.closest?.("tr[data-key]");
    if (row) flag(row.dataset.key);
  },
  ArrowDown: () => moveRow(1),
  ArrowUp: () => moveRow(-1),
};

for (const name of tabs) byId(`tab-${name}`).addEventListener("click", () => choose(name));
for (const name of Object.keys(actions)) byId(name)?.addEventListener("click", () => act(name));
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  choose(tabs[(tabs.indexOf(shown.tab) + step + tabs.length) % tabs.length]);
  byId(`tab-${shown.tab}`).focus();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const filter = byId("filter");
  if (document.activeElement === filter) {
    if (event.key !== "Escape") return;
    // Some browsers would take its text away, and say so to nobody.
    event.preventDefault();
    filter.blur();
    return;
  }
  // Its own keys choose in it.
  if (["method", "state"].includes(document.activeElement?.id)) {
    if (event.key === "Escape") document.activeElement.blur();
    return;
  }
  const number = Number(event.key);
  if (number >= 1 && number <= tabs.length) {
    choose(tabs[number - 1]);
  } else if (Object.hasOwn(keys, event.key)) {
    if (event.key.startsWith("Arrow") && pictures.includes(shown.tab)) return;
    event.preventDefault();
    keys[event.key]();
  }
});
byId("filter").addEventListener("input", draw);
byId("method").addEventListener("change", (event) => {
  shown.method[shown.tab] = event.target.value;
  draw();
});
byId("state").addEventListener("change", (event) => change("state", event.target.value));
draw();
listenAlways();
