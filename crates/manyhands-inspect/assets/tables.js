// The tables: their columns, and the rows of a view. A column that has `show` is sorted by `of` and shows the other. One
// that `isSeldom` anything but empty is left out until it is. Sentences are broken between words, by `isProse`.
import { lines, place, tail, time } from "./words.js";

const places = (list) => lines(list.split("\n").map(place));

// The kinds of waits for channels, whose addresses are in the table of channels.
const ofChannels = ["receive", "send", "channel_end"];

const waitsFor = (wait, { number, names, waiting, last_waker: lastWaker }) => {
  if (wait.kind === "outside") return lastWaker === "tokio" ? "outside, last woken by tokio's driver" : "outside this library";
  const named = wait.name ? `'${wait.name}'` : undefined;
  const what = wait.owner ?? named ?? names.get(wait.resource);
  if (what !== undefined) return `${wait.kind} ${what}`;
  if (wait.resource === "0") return wait.kind;
  if (ofChannels.includes(wait.kind)) return `${wait.kind} ${wait.resource}`;
  const other = waiting.get(wait.resource)?.find((one) => one !== number);
  return other === undefined ? wait.kind : `${wait.kind}, as does task ${other}`;
};

// The first two tasks that wait for each thing.
const waitingFor = (tasks) => {
  const waiting = new Map();
  for (const { number, waits } of tasks) {
    for (const { resource } of waits) {
      const first = waiting.get(resource) ?? [];
      if (first.length < 2 && first[0] !== number) waiting.set(resource, [...first, number]);
    }
  }
  return waiting;
};

// Of most tasks it is the usual one. Older programs do not say it.
const priorityOf = ({ priority }) => (priority === "normal" ? "" : priority ?? "");

// Of a channel without a name the end of its address.
const withoutAddress = (text) => text.replace(/ [0-9a-f]{4,}([0-9a-f]{5})$/gm, " …$1");

const stateOfTask = ({ state, deadlocked }) => (deadlocked ? `${state}, deadlocked` : state);

const stateOf = ({ load, capacity }) => {
  if (load === null) return "in use";
  if (load.closed) return "closed";
  return capacity > 0 && load.len >= capacity ? "full" : "open";
};

// The names of the frames that a task is in, from the outermost inwards: for each wait, or else for each innermost frame.
const framesOf = ({ frames = [], waits }) => {
  if (frames.length === 0) return [];
  const chain = (place) => {
    const frame = frames[place];
    if (frame === undefined) return [];
    return [...(frame.outer !== null && frame.outer < place ? chain(frame.outer) : []), frame.name];
  };
  const isInnermost = (place) => frames.every((frame) => frame.outer !== place);
  const places = waits.length > 0 ? waits.map((wait) => wait.frame) : [...frames.keys()].filter(isInnermost);
  return places.map((place) => chain(place).join(" › "));
};

// How many threads were added beyond the limit of a runtime, by reason.
const threadsAdded = (runtime) => {
  const reasons = {
    "for declared blocking": runtime.started_for_declared,
    "for detected blocking": runtime.started_for_detected,
    "for long computations": runtime.started_for_starved,
  };
  const added = Object.entries(reasons).filter(([, count]) => count > 0);
  return lines(added.map(([reason, count]) => `${count} ${reason}`));
};

// The number of the task that a worker runs. Workers and tasks are looked at one after the other, so a task counts only if
// it was spawned where the worker says. Of tasks inside each other the outer ones are blocked, and have been so for longer.
const taskOf = (worker, tasks) => {
  const its = tasks.filter((task) => task.worker === worker.index && task.spawned_at === worker.task_spawned_at);
  const rank = (task) => (task.state === "running" ? 0 : 1);
  its.sort((one, other) => rank(one) - rank(other) || one.in_state_us - other.in_state_us);
  return its[0]?.number ?? "";
};

// If one of the threads that could run a loop at once blocked, another was added, and more have run it.
const runnersOf = ({ runners, threads }) => (runners <= threads ? `${runners} of ${threads}` : `${runners}, ${threads} at once`);

// Waits for locks with how far their workers had come.
export const locksOf = (waits, runtimes) =>
  waits.map((wait) => {
    const runtime = runtimes.find((one) => one.number === wait.runtime);
    const { completed, parks } = runtime?.workers.find((worker) => worker.index === wait.worker) ?? {};
    return { ...wait, completed, parks };
  });

// The lock of another crate that a worker has waited for since its stack was looked at, as far as is known: it has completed
// nothing more, and has not slept.
const lockOf = (runtime, worker, locks) => {
  const isIts = (wait) => wait.runtime === runtime.number && wait.worker === worker.index;
  const isStill = (wait) => wait.completed === worker.completed && wait.parks === worker.parks;
  return (worker.index !== null && locks.find((wait) => isIts(wait) && isStill(wait))?.waits_for) || "";
};

export const tables = {
  tasks: {
    columns: [
      { title: "Task", of: (task) => task.number },
      { title: "Name", of: (task) => task.name ?? task.type, show: (name) => tail(name, 24), isTree: true },
      { title: "State", of: stateOfTask },
      { title: "For", of: (task) => task.in_state_us, show: time },
      { title: "Waits for", of: (task) => lines(task.waits.map((wait) => waitsFor(wait, task))), show: withoutAddress },
      { title: "In", of: (task) => lines(framesOf(task)), isSeldom: true },
      { title: "At", of: (task) => lines(task.waits.map((wait) => wait.at)), show: places },
      { title: "Spawned at", of: (task) => task.spawned_at ?? "", show: places },
      { title: "Parent", of: (task) => task.parent ?? "", isSeldom: true },
      { title: "Worker", of: (task) => (task.worker === null ? "" : `${task.runtime}:${task.worker}`) },
      { title: "Polls", of: (task) => task.polls },
      { title: "Busy", of: (task) => task.busy_us, show: time },
      { title: "Priority", of: priorityOf, isSeldom: true },
    ],
    rows: (view) => {
      const ring = new Set(view.deadlocks.flatMap((deadlock) => deadlock.tasks.map((task) => task.number)));
      const named = view.channels.filter((channel) => channel.name !== null);
      const names = new Map(named.map((channel) => [channel.resource, `'${channel.name}'`]));
      const waiting = waitingFor(view.tasks);
      return view.tasks.map((task) => ({ ...task, names, waiting, deadlocked: ring.has(task.number) }));
    },
    key: (task) => task.number,
    alarm: (task) => task.deadlocked,
    more: (view) => view.tasks_left_out,
    empty: "No tasks are recorded.",
  },
  workers: {
    columns: [
      { title: "Runtime", of: (worker) => worker.runtime },
      { title: "Worker", of: (worker) => worker.index ?? "external" },
      { title: "State", of: (worker) => worker.state },
      { title: "Waits for lock", of: (worker) => worker.lock, isSeldom: true },
      { title: "Task", of: (worker) => worker.task },
      { title: "Spawned at", of: (worker) => worker.task_spawned_at ?? "", show: places },
      { title: "Queued", of: (worker) => worker.queued },
      { title: "Forks", of: (worker) => worker.forks },
      { title: "Completed", of: (worker) => worker.completed },
      { title: "Steals", of: (worker) => worker.steals },
      { title: "Parks", of: (worker) => worker.parks },
      { title: "Threads added", of: (worker) => worker.added, isSeldom: true },
    ],
    rows: (view, locks) => view.runtimes.flatMap((runtime) => {
      const name = `${runtime.number} '${runtime.name}', ${runtime.limit} at once`;
      const added = threadsAdded(runtime);
      const tasks = view.tasks.filter((task) => {
        const isOnThread = task.state === "running" || task.state === "blocked";
        return isOnThread && task.runtime === runtime.number && task.worker !== null && task.spawned_at !== null;
      });
      return runtime.workers.map((worker) => ({
        ...worker,
        runtime: name,
        added,
        task: taskOf(worker, tasks),
        lock: lockOf(runtime, worker, locks),
      }));
    }),
    empty: "No workers have started.",
  },
  loops: {
    columns: [
      { title: "Loop", of: (loop) => loop.body },
      { title: "Called at", of: (loop) => loop.called_at ?? "", show: places },
      { title: "Done", of: (loop) => loop.done },
      { title: "Of", of: (loop) => loop.items ?? "" },
      { title: "Share", of: (loop) => (loop.items === null ? "" : loop.done / Math.max(loop.items, 1)), isBar: true },
      { title: "Runners", of: (loop) => loop.runners },
      { title: "At once", of: (loop) => loop.threads },
      { title: "Task", of: (loop) => loop.task ?? "" },
      { title: "For", of: (loop) => loop.age_us, show: time },
    ],
    rows: (view) => view.loops,
    empty: "No parallel loop runs now.",
  },
  channels: {
    columns: [
      { title: "Channel", of: (channel) => channel.name ?? channel.resource },
      { title: "Items", of: (channel) => channel.load?.len ?? "in use" },
      { title: "Capacity", of: (channel) => channel.capacity ?? "no limit" },
      { title: "Senders", of: (channel) => channel.load?.senders ?? "" },
      { title: "waiting", of: (channel) => channel.load?.senders_waiting ?? "" },
      { title: "Receivers", of: (channel) => channel.load?.receivers ?? "" },
      { title: "waiting", of: (channel) => channel.load?.receivers_waiting ?? "" },
      { title: "State", of: (channel) => stateOf(channel) },
      { title: "Of", of: (channel) => channel.item_type },
      { title: "Made at", of: (channel) => channel.made_at, show: places },
    ],
    rows: (view) => view.channels,
    more: (view) => view.channels_left_out,
    empty: "No channels are recorded.",
  },
  // What kept loops that have ended from being faster: the last one of each place.
  why: {
    columns: [
      { title: "Called at", of: (report) => report.called_at, show: places },
      { title: "Verdict", of: (report) => report.verdict.replaceAll("_", " ") },
      { title: "Why", of: (report) => lines([report.why, report.ran]), isProse: true },
      { title: "Items", of: (report) => report.items },
      { title: "Blocks", of: (report) => report.blocks },
      { title: "Runners", of: runnersOf },
      { title: "Took", of: (report) => report.elapsed_us, show: time },
      { title: "Alone for", of: (report) => report.alone_us, show: time },
      // An async loop has no blocks, and no runners.
      { title: "Imbalance", of: (report) => (report.blocks ? report.imbalance_percent : 0), show: (percent) => (percent ? `${percent} %` : "–") },
      { title: "Calls", of: (report) => report.calls },
      { title: "Ended", of: (report) => report.ended_us, show: (micros) => `${time(micros)} ago` },
      { title: "Loop", of: (report) => report.body, show: (body) => tail(body, 24) },
    ],
    rows: (view) => view.reports ?? [],
    empty: "No loop has ended since recording was opened.",
  },
};

// Whether a task is in this state; `deadlocked` is one.
export const hasState = (task, state) => (state === "deadlocked" ? task.deadlocked : task.state === state);

// The rows as a tree: each below the one that `parent` names, with its depth. A parent that is not shown is a root's.
export function asTree(rows) {
  const shown = new Set(rows.map((row) => row.number));
  const children = new Map();
  for (const row of rows) {
    const parent = shown.has(row.parent) ? row.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const tree = [];
  const open = (children.get(null) ?? []).map((row) => ({ ...row, depth: 0 })).reverse();
  while (open.length > 0) {
    const row = open.pop();
    tree.push(row);
    const below = (children.get(row.number) ?? []).map((child) => ({ ...child, depth: row.depth + 1 }));
    open.push(...below.reverse());
  }
  return tree;
}
