"use strict";
// What the page can do beside being read: sort its tables, filter the trials, and show them a page at a time. Without this
// script everything is still there, and every link leads to the nearest place that shows the same.
document.documentElement.classList.add("script");
document.addEventListener("DOMContentLoaded", () => {
  const PAGE = 50;
  const FIELDS = ["a", "k", "s", "f", "b", "q"];

  // ---- sorting

  // Numbers by size and words by alphabet; what has no value comes last either way.
  const key = (cell, kind) => {
    const value = cell.dataset.v ?? cell.textContent.trim();
    if (kind === "number") return value === "" ? null : Number(value);
    return value === "" ? null : value.toLowerCase();
  };
  const words = new Intl.Collator("en", { numeric: true });
  const compare = (a, b, kind, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (kind === "number" ? a - b : words.compare(a, b));
  };
  const sorted = (items, cell, kind, sign) =>
    items
      .map((item, place) => ({ item, place, value: key(cell(item), kind) }))
      .sort((a, b) => compare(a.value, b.value, kind, sign) || a.place - b.place)
      .map(({ item }) => item);

  // Makes the headings of a table buttons; `sort` is told the column, what it holds, and the direction.
  const sortable = (table, sort) => {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      if (!heading.dataset.sort) return;
      const button = document.createElement("button");
      button.type = "button";
      const drawing = heading.querySelector("svg.axis");
      button.append(...[...heading.childNodes].filter((node) => node !== drawing));
      heading.prepend(button);
      button.addEventListener("click", () => {
        // Numbers are looked at from the largest down, words from A on.
        const first = heading.dataset.sort === "number" && !heading.classList.contains("rank") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = heading.getAttribute("aria-sort") === first ? other : first;
        headings.forEach((one) => one.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", order);
        sort(column, heading.dataset.sort, order === "ascending" ? 1 : -1);
      });
    });
  };
  for (const table of document.querySelectorAll("table[data-sorts]")) {
    const body = table.tBodies[0];
    sortable(table, (column, kind, sign) => {
      body.append(...sorted([...body.rows], (row) => row.cells[column], kind, sign));
    });
  }

  // ---- arrows in the heat map: one stop of the tab key, whatever the number of cells

  for (const table of document.querySelectorAll("table[data-arrows]")) {
    const links = () => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.querySelector("a")));
    const all = table.querySelectorAll("tbody a");
    all.forEach((link, place) => { link.tabIndex = place === 0 ? 0 : -1; });
    table.addEventListener("focusin", (event) => {
      if (!event.target.matches("tbody a")) return;
      all.forEach((link) => { link.tabIndex = -1; });
      event.target.tabIndex = 0;
    });
    table.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      const step = steps[event.key];
      if (!step || !event.target.matches("tbody a")) return;
      event.preventDefault();
      const grid = links();
      let row = event.target.closest("tr").sectionRowIndex;
      let column = event.target.closest("th, td").cellIndex;
      // Cells that hold nothing are stepped over.
      do {
        row += step[0];
        column += step[1];
      } while (grid[row] && column in grid[row] && !grid[row][column]);
      grid[row]?.[column]?.focus();
    });
  }

  // ---- the table of trials

  const table = document.getElementById("trial-table");
  const form = document.getElementById("filter");
  const pages = document.getElementById("pages");
  const shown = document.getElementById("shown");
  const all = [...table.querySelectorAll("tr.trial")].map((row) => ({ row, more: row.nextElementSibling, data: row.dataset, id: row.id }));
  const body = document.createElement("tbody");
  body.className = "page";
  [...table.tBodies].forEach((one) => one.remove());
  table.append(body);
  form.hidden = false;

  let order = all;
  let visible = all;
  let page = 0;
  let open = null;

  const text = (trial) => (trial.text ??= `${trial.row.textContent} ${trial.more.textContent}`.toLowerCase());
  const matches = (trial, filter) =>
    (!filter.a || trial.data.a === filter.a) &&
    (!filter.k || trial.data.k === filter.k) &&
    (!filter.s || (filter.s === "unfinished" ? trial.data.s !== "complete" : trial.data.s === filter.s)) &&
    (!filter.f || (filter.f === "any" ? trial.data.f !== "" : trial.data.f === filter.f)) &&
    (!filter.b || trial.data.b === filter.b) &&
    filter.q.every((word) => text(trial).includes(word));

  const values = () => Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value]));
  const fill = (filter) => {
    FIELDS.forEach((name) => { form.elements[name].value = filter[name] ?? ""; });
    // Only a bar of a histogram filters by reward; once it does, one must see it to be able to stop it.
    form.elements.b.closest("label").hidden = !form.elements.b.value;
  };
  // The filter as an address, so that it can be kept, sent and gone back to.
  const address = () => {
    const set = Object.entries(values()).filter(([, value]) => value !== "");
    return set.length ? `#show&${new URLSearchParams(set)}` : "#trials";
  };

  const draw = () => {
    const last = Math.max(0, Math.ceil(visible.length / PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    const from = page * PAGE;
    const rows = visible.slice(from, from + PAGE);
    body.replaceChildren(...rows.flatMap((trial) => [trial.row, trial.more]));
    pages.hidden = last === 0;
    pages.querySelector("span").textContent = `${from + 1} to ${from + rows.length} of ${visible.length}`;
    for (const button of pages.querySelectorAll("button")) {
      button.disabled = /first|previous/.test(button.dataset.step) ? page === 0 : page === last;
    }
  };
  const filter = () => {
    const wanted = values();
    wanted.q = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    visible = order.filter((trial) => matches(trial, wanted));
    page = 0;
    const chosen = FIELDS.filter((name) => form.elements[name].value).map((name) => {
      const control = form.elements[name];
      const value = control.selectedOptions ? control.selectedOptions[0].textContent : `“${control.value}”`;
      return `${control.closest("label").firstChild.textContent.trim().toLowerCase()} ${value}`;
    });
    shown.textContent = `${visible.length} of ${all.length} trials${chosen.length ? `: ${chosen.join(", ")}` : ""}`;
    draw();
  };
  const toggle = (trial) => {
    for (const one of [open, trial]) {
      if (!one) continue;
      const expanded = one === trial && open !== trial;
      one.row.classList.toggle("open", expanded);
      one.row.querySelector("a").setAttribute("aria-expanded", expanded);
    }
    open = open === trial ? null : trial;
  };
  for (const trial of all) trial.row.querySelector("a").setAttribute("aria-expanded", "false");

  sortable(table, (column, kind, sign) => {
    order = sorted(all, (trial) => trial.row.cells[column], kind, sign);
    filter();
  });
  form.addEventListener("input", () => {
    fill(values());
    filter();
    history.replaceState(null, "", address());
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    fill({});
    filter();
    history.replaceState(null, "", "#trials");
  });
  pages.addEventListener("click", (event) => {
    const step = event.target.dataset.step;
    if (!step) return;
    page = { first: 0, previous: page - 1, next: page + 1, last: Infinity }[step];
    draw();
    // A button that has just been disabled would take the focus away with it.
    if (event.target.disabled) pages.querySelector("button:not(:disabled)").focus();
  });

  // ---- addresses

  // What the links of the page ask for; nothing, if it is not about trials.
  const asked = (hash) => {
    if (hash.startsWith("show&")) return Object.fromEntries(new URLSearchParams(hash.slice(5)));
    const [kind, ...rest] = hash.split("-");
    const [a, other] = [rest[0] === "0" ? "" : rest[0], rest[1]];
    switch (kind) {
      case "a": return { a };
      case "c": return { a, k: other };
      case "s": return { a, s: other };
      case "b": return { a, b: other, s: "complete" };
      case "f": return other === "graded" ? { a, f: "any", s: "complete" } : { a, f: other, s: "unfinished" };
      default: return null;
    }
  };
  const route = (hash) => {
    const trial = /^t-\d+$/.test(hash) && all.find((one) => one.id === hash);
    if (trial) {
      if (!visible.includes(trial)) {
        fill({});
        filter();
      }
      page = Math.floor(visible.indexOf(trial) / PAGE);
      draw();
      if (open !== trial) toggle(trial);
      trial.row.scrollIntoView({ block: "start" });
      trial.row.querySelector("a").focus({ preventScroll: true });
      return;
    }
    const wanted = asked(hash);
    if (!wanted) return;
    fill(wanted);
    filter();
    document.getElementById("trials").scrollIntoView();
    document.getElementById("trials-title").focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    const row = link.closest("tr.trial");
    if (row) {
      event.preventDefault();
      toggle(all.find((trial) => trial.row === row));
      history.replaceState(null, "", open ? `#${open.id}` : address());
      return;
    }
    const hash = link.dataset.go ?? link.getAttribute("href").slice(1);
    if (!/^t-\d+$/.test(hash) && !asked(hash)) return;
    event.preventDefault();
    // An address that is there already changes nothing, and must show its trials all the same.
    if (location.hash !== `#${hash}`) history.pushState(null, "", `#${hash}`);
    route(hash);
  });
  // Addresses that are typed, and those that one goes back to. The browser has moved the focus by the time of this event.
  addEventListener("hashchange", () => route(location.hash.slice(1)));

  filter();
  route(location.hash.slice(1));
});
