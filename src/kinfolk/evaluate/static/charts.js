// Elements, numbers in words, and charts that are drawn from the data of the page.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

// Elements: text only ever enters as text, never as markup.

const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const html = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

const digits = (number) => {
  const size = Math.abs(number);
  return number === 0 ? "0" : number.toFixed(size >= 1 ? 1 : size >= 0.01 ? 2 : 4);
};
const percent = (share) => `${digits(100 * share)}%`;
const points = (share) => `${share > 0 ? "+" : ""}${digits(100 * share)} points`;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const shares = (counts) => {
  const total = sum(counts) || 1;
  return counts.map((count) => count / total);
};

const ruler = document.createElement("canvas").getContext("2d");
const textWidth = (text) => {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
};
const shorten = (text, width) => {
  if (textWidth(text) <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(`${letters.join("")}…`) > width) letters.pop();
  return `${letters.join("").trimEnd()}…`;
};
const label = (words, width, attributes) => svg("text", attributes, shorten(words, width));

// A chart is a picture with a title and a description, redrawn when the page's width changes.

let serial = 0;
const picture = (width, height, title, description, ...children) => {
  serial += 1;
  const ids = [`chart-${serial}-title`, `chart-${serial}-desc`];
  const named = { role: "img", "aria-labelledby": ids.join(" ") };
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, ...named },
    svg("title", { id: ids[0] }, title),
    svg("desc", { id: ids[1] }, description),
    ...children,
  );
};
const legend = (entries) => {
  const square = (name) =>
    svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" },
      svg("rect", { width: 10, height: 10, class: name }));
  const items = entries.map(([name, words]) => html("li", {}, square(name), words));
  return html("ul", { class: "legend" }, ...items);
};
const BOTH = [["real", "real"], ["synthetic", "synthetic"]];

const drawings = new Map();
const draw = (kind, make) => {
  const figure = document.querySelector(`[data-chart="${kind}"]`);
  if (!figure) return;
  drawings.set(figure, make);
  redraw(figure);
};
let printing = false;
const redraw = (figure) => {
  const width = printing ? 720 : Math.floor(figure.clientWidth);
  if (!width) return;
  const caption = figure.querySelector("figcaption");
  figure.replaceChildren(caption, ...drawings.get(figure)(width, caption.textContent));
  figure.dataset.drawn = width;
};
for (const [event, begins] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => {
    printing = begins;
    [...drawings.keys()].forEach(redraw);
  });
}
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => [...drawings.keys()].forEach(redraw), 120);
});

const bars = (width, title, labels, counts) => {
  const [real, synthetic] = counts.map(shares);
  const most = Math.max(...real, ...synthetic) || 1;
  const left = Math.min(Math.max(...labels.map(textWidth)) + 12, width * 0.4);
  const right = 56, step = 34, room = width - left - right;
  const rows = labels.map((words, row) => {
    const y = row * step;
    const tip = `${words}\nreal ${percent(real[row])}, synthetic ${percent(synthetic[row])}\n`
      + `difference ${points(synthetic[row] - real[row])}`;
    const bar = (name, share, dy) => [
      svg("rect", { x: left, y: y + dy, height: 12, rx: 1.5, class: name, "data-tip": tip,
        width: Math.max((room * share) / most, 1) }),
      svg("text", { x: left + (room * share) / most + 6, y: y + dy + 10, class: "soft" },
        percent(share)),
    ];
    return [
      label(words, left - 12, { x: left - 10, y: y + 20, "text-anchor": "end" }),
      ...bar("real", real[row], 3), ...bar("synthetic", synthetic[row], 16),
    ];
  });
  const worst = labels.map((_, row) => row)
    .sort((a, b) => Math.abs(synthetic[b] - real[b]) - Math.abs(synthetic[a] - real[a]))[0];
  const about = `Shares of ${labels.length} categories, real and synthetic. The largest `
    + `difference is ${points(synthetic[worst] - real[worst])}, for ${labels[worst]}.`;
  return [picture(width, labels.length * step, title, about, ...rows.flat()), legend(BOTH)];
};

const bands = (width, title) => {
  const { labels, rows } = data.bands;
  const left = width < 500 ? 0 : Math.max(...rows.map(([words]) => textWidth(words))) + 16;
  const step = left ? 34 : 50, room = width - left;
  const drawn = rows.map(([words, counts], row) => {
    const y = row * step, parts = shares(counts);
    let x = left;
    const pieces = parts.map((share, band) => {
      const tip = `${words}\n${percent(share)} of the questions are off by ${labels[band]} points`;
      const piece = svg("rect", { x, y: y + (left ? 4 : 20), width: room * share, height: 24,
        class: `band-${band}`, "data-tip": tip });
      x += room * share;
      return piece;
    });
    const place = left ? { x: left - 12, y: y + 21, "text-anchor": "end" } : { x: 0, y: y + 14 };
    return [svg("text", place, words), ...pieces];
  });
  const about = rows.map(([words, counts]) => `${words}: ${shares(counts)
    .map((share, band) => `${percent(share)} off by ${labels[band]} points`).join(", ")}`);
  const entries = labels.map((words, band) => [`band-${band}`, words]);
  return [picture(width, rows.length * step, title, about.join(". "), ...drawn.flat()),
    legend(entries),
    html("p", { class: "note" }, "Share of questions whose answers are off by so many percentage points.")];
};

const heat = (width, table) => {
  const { rows, columns, real, synthetic } = table;
  const panels = printing || width >= 960 ? 3 : width >= 640 ? 2 : 1;
  const own = Math.floor((width - 20 * (panels - 1)) / panels);
  const [a, b] = [shares(real), shares(synthetic)];
  const difference = b.map((share, cell) => share - a[cell]);
  const most = Math.max(...a, ...b) || 1;
  const widest = Math.max(...difference.map(Math.abs)) || 1;
  const left = Math.min(Math.max(...rows.map(textWidth)) + 10, own * 0.36);
  const below = Math.min(Math.max(...columns.map(textWidth)) + 12, 110);
  const w = (own - left) / columns.length, h = Math.min(Math.max(w, 16), 26);
  const panel = (title, values, paint, about) => {
    const cells = values.map((value, cell) => {
      const row = Math.floor(cell / columns.length), column = cell % columns.length;
      const tip = `${table.rowName}: ${rows[row]}\n${table.columnName}: ${columns[column]}\n`
        + `real ${percent(a[cell])}, synthetic ${percent(b[cell])}\n`
        + `difference ${points(difference[cell])}`;
      return svg("rect", { x: left + column * w, y: 24 + row * h, width: Math.max(w - 1, 1),
        height: h - 1, "data-tip": tip, ...paint(value) });
    });
    const bottom = 24 + rows.length * h;
    const ground = svg("rect", { x: left, y: 24, width: own - left, height: rows.length * h,
      class: "cell-ground" });
    const names = [
      ...rows.map((words, row) => label(words, left - 8,
        { x: left - 6, y: 24 + row * h + h / 2 + 4, "text-anchor": "end" })),
      ...(w < 9 ? [] : columns.map((words, column) => {
        const x = left + column * w + w / 2 + 4;
        return label(words, below - 12,
          { x, y: bottom + 6, "text-anchor": "end", transform: `rotate(-90 ${x} ${bottom + 6})` });
      })),
    ];
    const head = svg("text", { x: left, y: 14, class: "head" }, title);
    return picture(own, bottom + below, title, about, head, ground, ...cells, ...names);
  };
  // Shares by their root, so that small ones can be seen; differences as they are.
  const tint = (name, top) => (value) => ({ class: name,
    "fill-opacity": Math.sqrt(value / top).toFixed(3) });
  const signed = (value) => ({ class: value > 0 ? "synthetic" : "real",
    "fill-opacity": (Math.abs(value) / widest).toFixed(3) });
  return [
    html("div", { class: "panels" },
      panel("real", a, tint("amount", most), `The largest share is ${percent(Math.max(...a))}.`),
      panel("synthetic", b, tint("amount", most),
        `The largest share is ${percent(Math.max(...b))}.`),
      panel("synthetic less real", difference, signed,
        `The largest difference is ${percent(widest)}.`)),
    legend([["synthetic", "difference: the synthetic data has more"],
      ["real", "difference: it has less"]]),
    html("p", { class: "note" }, `The strongest colour stands for ${percent(most)} in the first `
      + `two, for ${digits(100 * widest)} points in the difference. Distance `
      + `${percent(table.distance)}; a second real survey would have ${percent(table.chance)}.`),
  ];
};

// The same figures as tables, for who cannot or does not want to look at charts.

const tableOf = (title, headings, rows) => {
  const head = html("tr", {}, ...headings.map((words, column) =>
    html("th", { scope: "col", ...(column >= headings.length - 3 ? { class: "number" } : {}) }, words)));
  const body = rows.map((row) => html("tr", {}, ...row.map((cell, column) => (column === 0
    ? html("th", { scope: "row" }, cell)
    : html("td", column >= row.length - 3 ? { class: "number" } : {}, cell)))));
  const grid = html("table", {}, html("caption", {}, title), html("thead", {}, head),
    html("tbody", {}, ...body));
  const scroll = { class: "scroll", role: "region", tabindex: "0", "aria-label": title };
  return html("div", scroll, grid);
};
const alternative = (id, title, make) => {
  const details = html("details", {}, html("summary", {}, "Show as a table"));
  // Filled when it is opened: a large table that nobody reads costs nothing.
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(make(title));
  });
  byId(id).replaceChildren(details);
};
const SHARES = ["real", "synthetic", "difference"];
const both = (real, synthetic) => [percent(real), percent(synthetic), points(synthetic - real)];
const cellsTable = (table) => (title) => {
  const [a, b] = [shares(table.real), shares(table.synthetic)];
  const rows = a.map((share, cell) => [
    table.rows[Math.floor(cell / table.columns.length)],
    table.columns[cell % table.columns.length], ...both(share, b[cell]),
  ]);
  return tableOf(title, [table.rowName, table.columnName, ...SHARES], rows);
};
