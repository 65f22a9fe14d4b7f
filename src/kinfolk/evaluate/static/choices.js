// What may be chosen.

const choices = (id, entries, chosen) => {
  byId(id).replaceChildren(...entries.map(([value, words]) => {
    const option = html("option", { value }, words);
    option.selected = value === chosen;
    return option;
  }));
};
const attributes = data.attributes;
const noun = (level) => (level === "group" ? data.groups : data.people);

const showOne = () => {
  const at = Number(byId("one").value), { name, labels, level } = attributes[at];
  const [real, synthetic, distance] = data.one[at];
  const title = `${name}: shares of ${noun(level)}; distance ${percent(distance)}`;
  document.querySelector('[data-chart="one"] figcaption').textContent = title;
  draw("one", (width, caption) => bars(width, caption, labels, [real, synthetic]));
  alternative("one-table", title, (words) => {
    const [a, b] = [shares(real), shares(synthetic)];
    return tableOf(words, [name, ...SHARES], labels.map((text, row) => [text, ...both(a[row], b[row])]));
  });
};

const turned = (counts, rows, columns) => Array.from({ length: rows * columns },
  (_, cell) => counts[(cell % rows) * columns + Math.floor(cell / rows)]);

const showTwo = () => {
  const [r, c] = [Number(byId("rows").value), Number(byId("columns").value)];
  const kept = data.two.find(([i, j]) => (i === r && j === c) || (i === c && j === r));
  const [rows, columns] = [attributes[r], attributes[c]];
  const figure = document.querySelector('[data-chart="two"]');
  if (!kept) {
    figure.querySelector("figcaption").textContent = r === c
      ? "Choose two different attributes."
      : "This pair is not in the report: it holds those that differ most, as far as there is room.";
    draw("two", () => []);
    byId("two-table").replaceChildren();
    return;
  }
  const [i, j, ...counts] = kept;
  const sizes = [attributes[i].labels.length, attributes[j].labels.length];
  const [real, synthetic] = i === r ? counts : counts.slice(0, 2).map((one) => turned(one, ...sizes));
  const level = rows.level === "group" && columns.level === "group" ? "group" : "individual";
  const table = { rows: rows.labels, columns: columns.labels, rowName: rows.name,
    columnName: columns.name, real, synthetic, distance: kept[4], chance: kept[5] };
  const title = `${rows.name} (rows) by ${columns.name} (columns): shares of ${noun(level)}`;
  figure.querySelector("figcaption").textContent = title;
  draw("two", (width) => heat(width, table));
  alternative("two-table", title, cellsTable(table));
};

const showPairs = () => {
  const [tie, at] = [Number(byId("tie").value), Number(byId("shared").value)];
  const kept = data.pairs.find(([t, a]) => t === tie && a === at);
  const { labels, name } = attributes[at], { rows, columns } = data.ties[tie];
  const caption = document.querySelector('[data-chart="pairs"] figcaption');
  if (!kept) {
    caption.textContent = "One of the two datasets has no such pairs.";
    draw("pairs", () => []);
    byId("pairs-table").replaceChildren();
    return;
  }
  const table = { rows: labels, columns: labels, rowName: `${rows}, ${name}`,
    columnName: `${columns}, ${name}`, real: kept[2], synthetic: kept[3],
    distance: kept[4], chance: kept[5] };
  const title = `${name} of ${rows} (rows) and of ${columns} (columns): shares of pairs`;
  caption.textContent = title;
  draw("pairs", (width) => heat(width, table));
  alternative("pairs-table", title, cellsTable(table));
};

const named = attributes.map(({ name }, at) => [String(at), name]);
const most = (list, at) => String(list.reduce((best, one, index) =>
  (one[2] > list[best][2] ? index : best), 0) + at);

draw("bands", bands);
for (const kind of ["sizes", "compositions"]) {
  const shown = data[kind];
  if (shown) draw(kind, (width, title) => bars(width, title, shown.labels, [shown.real, shown.synthetic]));
}
choices("one", named, most(data.one, 0));
byId("one").addEventListener("change", showOne);
showOne();
if (data.two.length) {
  choices("rows", named, String(data.two[0][0]));
  choices("columns", named, String(data.two[0][1]));
  for (const id of ["rows", "columns"]) byId(id).addEventListener("change", showTwo);
  showTwo();
}
if (data.pairs.length) {
  const ties = data.ties.map(({ rows, columns }, at) => [String(at), `${rows} and ${columns}`]);
  const people = named.filter((_, at) => attributes[at].level === "individual");
  choices("tie", ties, String(data.pairs[0][0]));
  choices("shared", people, String(data.pairs[0][1]));
  for (const id of ["tie", "shared"]) byId(id).addEventListener("change", showPairs);
  showPairs();
}
