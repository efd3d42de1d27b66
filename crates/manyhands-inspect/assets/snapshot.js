// Snapshots as files, in the lines that `manyhands inspect --json` prints, and the difference of two of them.

export function toLines(view) {
  const line = (kind) => (fields) => JSON.stringify({ [kind]: fields });
  const end = {
    end: "snapshot",
    tasks: view.tasks.length,
    tasks_left_out: view.tasks_left_out,
    channels_left_out: view.channels_left_out,
  };
  const all = [
    ...view.runtimes.map(line("runtime")),
    ...view.tasks.map(line("task")),
    ...view.loops.map(line("loop")),
    ...view.channels.map(line("channel")),
    JSON.stringify(end),
    ...view.deadlocks.map(line("deadlock")),
    ...view.starvations.map(line("starvation")),
    JSON.stringify({ end: "deadlocks", deadlocks: view.deadlocks.length, starvations: view.starvations.length }),
    ...view.groups.map(line("group")),
    JSON.stringify({ end: "groups", groups: view.groups.length, groups_left_out: view.groups_left_out }),
    ...view.reports.map(line("report")),
    JSON.stringify({ end: "reports", reports: view.reports.length }),
  ];
  return all.map((text) => `${text}\n`).join("");
}

export function fromLines(text) {
  const lists = {
    runtime: "runtimes",
    task: "tasks",
    loop: "loops",
    channel: "channels",
    deadlock: "deadlocks",
    starvation: "starvations",
    group: "groups",
    report: "reports",
  };
  const view = { tasks_left_out: 0, channels_left_out: 0, groups_left_out: 0 };
  for (const list of Object.values(lists)) view[list] = [];
  let isWhole = false;
  for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
    const read = JSON.parse(line);
    for (const [kind, list] of Object.entries(lists)) if (read[kind] !== undefined) view[list].push(read[kind]);
    if (read.end === "snapshot") {
      isWhole = true;
      view.tasks_left_out = read.tasks_left_out ?? 0;
      view.channels_left_out = read.channels_left_out ?? 0;
    }
  }
  if (!isWhole) throw new Error("this is no snapshot of manyhands inspect");
  return view;
}

// Each task of two views with what has become of it: `new`, `gone`, `went on`, or `has not moved`.
export function difference(earlier, now) {
  const before = new Map(earlier.tasks.map((task) => [task.number, task]));
  const tasks = now.tasks.map((task) => {
    const old = before.get(task.number);
    before.delete(task.number);
    if (old === undefined) return { ...task, change: "new" };
    const hasMoved = old.changes !== task.changes || old.state !== task.state;
    return { ...task, change: hasMoved ? "went on" : "has not moved" };
  });
  const gone = [...before.values()].map((task) => ({ ...task, change: "gone" }));
  return [...tasks, ...gone];
}
