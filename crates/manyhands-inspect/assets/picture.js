// The picture of who waits for whom: drawn, scaled, searched, saved.
import { download } from "./words.js";

const parse = (text) => new DOMParser().parseFromString(text, "image/svg+xml");

// Whether tasks of a node are in the state and among the numbers that are wanted; "" and null are all. A channel has none.
export const holds = ({ state, tasks }, wanted) => {
  const isInState = wanted.state === "" || state === wanted.state || (wanted.state === "deadlocked" && wanted.isDeadlocked);
  return isInState && (wanted.numbers === null || (tasks ?? "").split(" ").some((number) => wanted.numbers.has(number)));
};

// Nodes that do not contain the text are faint, and of a picture of tasks those without a task that is wanted. So are lines
// between faint nodes.
export function drawPicture(panel, text, scale, wanted) {
  const nodes = () => [...panel.querySelectorAll(".node")];
  const focused = nodes().indexOf(document.activeElement);
  const picture = document.importNode(parse(text).documentElement, true);
  for (const side of ["width", "height"]) {
    picture.setAttribute(side, String(Math.round(Number(picture.getAttribute(side)) * scale)));
  }
  const isOfTasks = picture.querySelector("[data-state]") !== null;
  const drawn = [...picture.querySelectorAll(".node")];
  for (const node of drawn) {
    const hasText = node.getAttribute("aria-label").toLowerCase().includes(wanted.text);
    const isDeadlocked = node.classList.contains("deadlocked");
    const isWanted = hasText && (!isOfTasks || holds(node.dataset, { ...wanted, isDeadlocked }));
    node.classList.toggle("faint", !isWanted);
  }
  const isFaint = (at) => drawn[at].classList.contains("faint");
  for (const edge of picture.querySelectorAll("[data-from]")) {
    edge.classList.toggle("faint", isFaint(edge.dataset.from) && isFaint(edge.dataset.to));
  }
  panel.replaceChildren(picture);
  if (focused >= 0) nodes()[focused]?.focus();
}

// The picture as a file of its own, in the colours of the page. The style is put into the text: an element of it would be
// a part of this page, which has no styles but those of its files.
async function standalone(text) {
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  const isDark = scheme === "dark" || (scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const rules = await (await fetch("graph.css")).text();
  const ground = isDark ? "color-scheme: dark; background: #16181c" : "color-scheme: light; background: #fbfbfa";
  const styled = text.replace(">", `><style>svg { ${ground} }\n${rules}</style>`);
  return new Blob([styled], { type: "image/svg+xml" });
}

export async function saveSvg(text) {
  download("parallel-stacks.svg", await standalone(text));
}

export async function savePng(text) {
  const address = URL.createObjectURL(await standalone(text));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (blob === null) throw new Error("the picture is too large for a PNG");
    download("parallel-stacks.png", blob);
  } finally {
    URL.revokeObjectURL(address);
  }
}
