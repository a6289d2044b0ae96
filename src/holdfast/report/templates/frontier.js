// The frontier: figures of the candidate under the pointer; its tree, rules and diff on a click.
(() => {
  const section = facts.sections.frontier, panel = byId("frontier-tree"), figures = byId("frontier-figures");
  const marks = [...document.querySelectorAll("#frontier [data-candidate]")];
  const shown = marks.filter((mark) => "shown" in mark.dataset);
  const titles = Object.fromEntries(section.trees.map((tree) => [tree.candidate, tree.title]));
  const text = (place) => {
    const of = section.candidates, plain = (value) => String(Number(value.toPrecision(4)));
    return titles[place] ?? `Candidate ${place}: ${section.metric} ${plain(of.score[place])} ± ${plain(of.score_error[place])}, instability ${plain(of.instability[place])}, ${of.leaves[place]} leaves`;
  };
  const point = (place) => { figures.textContent = text(place); };
  const open = (mark) => {
    shown.forEach((each) => {
      each.setAttribute("tabindex", each === mark ? "0" : "-1");
      each.setAttribute("aria-pressed", String(each === mark));
    });
    panel.replaceChildren(byId(`candidate-${mark.dataset.candidate}`).content.cloneNode(true));
    panel.dataset.candidate = mark.dataset.candidate;
  };
  marks.forEach((mark) => mark.addEventListener("pointerenter", () => point(mark.dataset.candidate)));
  shown.forEach((mark, place) => {
    mark.addEventListener("focus", () => point(mark.dataset.candidate));
    mark.addEventListener("click", () => open(mark));
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) shown[(place + step + shown.length) % shown.length].focus();
      else if (event.key === "Enter" || event.key === " ") open(mark);
      else return;
      event.preventDefault();
    });
  });
  point(section.chosen);
})();
