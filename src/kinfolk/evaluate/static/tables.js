// Tables: sort by a column, show the first rows, filter the questions.

const shorts = new Map();
const refresh = (grid) => {
  const state = shorts.get(grid);
  const rows = [...grid.tBodies[0].rows];
  const matching = rows.filter((row) => !row.dataset.out);
  const shown = new Set(state.all ? matching : matching.slice(0, state.short));
  for (const row of rows) row.hidden = !shown.has(row);
  state.button.hidden = matching.length <= state.short;
  state.button.textContent = state.all ? "Show fewer" : `Show all ${matching.length}`;
  return [shown.size, matching.length, rows.length];
};
for (const grid of document.querySelectorAll("table[data-short]")) {
  const button = html("button", { type: "button", class: "more" });
  shorts.set(grid, { short: Number(grid.dataset.short), all: false, button });
  grid.parentElement.after(button);
  button.addEventListener("click", () => {
    shorts.get(grid).all = !shorts.get(grid).all;
    refresh(grid);
    if (grid.id === "worst") tellFound();
  });
  refresh(grid);
}
const sorted = (grid, column, ascending) => {
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const before = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const order = typeof a === "number" ? a - b : a.localeCompare(b);
    return ascending ? order : -order;
  };
  const rows = [...grid.tBodies[0].rows];
  rows.sort((a, b) => before(key(a), key(b)));
  grid.tBodies[0].append(...rows);
};
for (const grid of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...grid.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    // Numbers begin with the largest, words with the first.
    const ascending = now === "none" ? !head.classList.contains("number") : now === "descending";
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    sorted(grid, column, ascending);
    if (shorts.has(grid)) refresh(grid);
  }));
}
const worst = byId("worst");
const tellFound = () => {
  const [shown, matching, all] = refresh(worst);
  byId("found").textContent = matching
    ? `Showing ${shown} of ${matching} matching questions (${all} in the report).`
    : "No question matches.";
};
const filter = () => {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const family = byId("family").value, attribute = byId("attribute").value;
  for (const row of worst.tBodies[0].rows) {
    const text = row.cells[0].textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word))
      && (!family || row.dataset.family === family)
      && (!attribute || JSON.parse(row.dataset.attributes).includes(attribute));
    if (fits) delete row.dataset.out;
    else row.dataset.out = "1";
  }
  tellFound();
};
byId("find").addEventListener("input", filter);
for (const id of ["family", "attribute"]) byId(id).addEventListener("change", filter);
filter();

// Values under the pointer.

const tip = html("div", { class: "tip", hidden: "" });
document.body.append(tip);
const point = (event) => {
  const words = event.target.getAttribute && event.target.getAttribute("data-tip");
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words;
  const { clientX: x, clientY: y } = event;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
};
for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, point);
document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

// Pages of the report.

const tabs = [...document.querySelectorAll('[role="tab"]')];
const open = (chosen) => {
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
  }
  [...drawings.keys()].forEach(redraw);
};
tabs.forEach((tab, at) => {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    open(next);
    next.focus();
  });
});
if (tabs.length) open(tabs[0]);
