"use strict";
// For all pages: the facts, the theme, and printing with all details open.
const facts = JSON.parse(document.getElementById("facts").textContent);
const byId = (id) => document.getElementById(id);

(() => {
  const root = document.documentElement, button = byId("theme");
  const stored = (value) => {
    try { return value ? localStorage.setItem("holdfast-theme", value) : localStorage.getItem("holdfast-theme"); }
    catch { return null; } // without storage the page still works
  };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => {
    button.textContent = isDark() ? "Light theme" : "Dark theme";
    button.setAttribute("aria-pressed", String(isDark()));
  };
  if (stored()) root.dataset.theme = stored();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    label();
  });
  label();
})();

addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => {
  if (!each.open) { each.open = true; each.dataset.closed = ""; }
}));
addEventListener("afterprint", () => document.querySelectorAll("details[data-closed]").forEach((each) => {
  each.open = false;
  delete each.dataset.closed;
}));

(() => {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -70% 0px" });
  links.forEach((_, id) => watch.observe(byId(id)));
})();

// A tree that is wider than the screen is scrolled to its root.
document.querySelectorAll("figure.tree > .scroll").forEach((each) => {
  const root = each.querySelector('[data-node="0"]');
  if (!root || each.scrollWidth <= each.clientWidth) return;
  const place = root.getBoundingClientRect(), frame = each.getBoundingClientRect();
  each.scrollLeft += place.left + place.width / 2 - frame.left - frame.width / 2;
});
