// How values are written, and elements made. Text of the program is only ever put in as text.

export const time = (micros) => {
  if (micros < 1e3) return `${micros} µs`;
  if (micros < 1e6) return `${(micros / 1e3).toFixed(1)} ms`;
  if (micros < 6e8) return `${(micros / 1e6).toFixed(1)} s`;
  return `${Math.round(micros / 6e7)} min`;
};

export const lines = (list) => list.join("\n");

// The file of a path with its line, but not its column. Of a long name the end.
export const place = (at) => {
  const file = at.replace(/:\d+$/, "").replace(/^.*[/\\]/, "");
  return tail(file, 22);
};

// At most so many characters, of a longer text the end.
export const tail = (text, max) => (text.length > max ? `…${text.slice(1 - max)}` : text);

// One for all: `localeCompare` would make another for each comparison.
const collator = new Intl.Collator(undefined, { numeric: true });

export const compare = (one, other) => {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return collator.compare(String(one), String(other));
};

export function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function download(name, blob) {
  const link = element("a", "", { download: name });
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
