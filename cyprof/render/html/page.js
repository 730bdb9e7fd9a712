"use strict";
(() => {
  const tables = JSON.parse(document.getElementById("data").textContent);
  const view = document.getElementById("view");
  const list = document.getElementById("functions");
  const search = document.getElementById("search");
  const sort = document.getElementById("sort");
  const count = document.getElementById("count");
  const items = Array.from(list.children);
  const links = new Map(items.map((item) => [item.firstElementChild.hash.slice(1), item.firstElementChild]));
  const words = new Map(items.map((item) => [item, item.textContent.toLowerCase()]));
  let shown = "";
  let current = null;

  // A place in the page is `f12`, a function, or `f12-0-34`, a line of it in its first file.
  function go() {
    const place = location.hash.slice(1);
    const wanted = place.split("-")[0];
    const id = links.has(wanted) ? wanted : shown || links.keys().next().value;
    if (id === undefined) return;
    if (id !== shown) {
      view.innerHTML = tables[id];
      shown = id;
      if (current) current.removeAttribute("aria-current");
      current = links.get(id);
      current.setAttribute("aria-current", "true");
    }
    for (const row of view.querySelectorAll("tr.target")) row.classList.remove("target");
    const row = place === wanted ? null : document.getElementById(place);
    if (row) {
      row.classList.add("target");
      // Pieces of a long table are laid out, and change their heights, as they come into sight.
      const center = (again) => {
        row.scrollIntoView({ block: "center" });
        if (again) requestAnimationFrame(() => center(again - 1));
      };
      center(4);
    } else if (place) {
      view.scrollIntoView({ block: "start" });
    }
  }

  function filter() {
    const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const item of items) {
      item.hidden = !parts.every((part) => words.get(item).includes(part));
      left += item.hidden ? 0 : 1;
    }
    const all = `${items.length.toLocaleString("en")} ${items.length === 1 ? "function" : "functions"}`;
    count.textContent = left === items.length ? all : `${left.toLocaleString("en")} of ${all}`;
  }

  function reorder() {
    const key = sort.value;
    const text = key === "name" || key === "place";
    const value = (item) => (text ? item.dataset[key] : -Number(item.dataset[key]));
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    items.sort((one, other) => (text ? compare(value(one), value(other)) : value(one) - value(other)));
    list.append(...items);
  }

  function step(by) {
    const visible = items.filter((item) => !item.hidden);
    if (!visible.length) return;
    const at = visible.findIndex((item) => item.firstElementChild === document.activeElement);
    const next = visible[Math.min(visible.length - 1, Math.max(0, at + by))].firstElementChild;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  search.addEventListener("input", filter);
  sort.addEventListener("change", reorder);
  addEventListener("hashchange", go);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target === search;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "Escape" && typing) {
      search.value = "";
      filter();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (typing || list.contains(event.target))) {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && typing) {
      step(1);
      if (list.contains(document.activeElement)) location.hash = document.activeElement.hash;
    }
  });
  document.documentElement.classList.add("js");
  filter();
  reorder();
  go();
})();
