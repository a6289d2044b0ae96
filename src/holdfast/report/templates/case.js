// One case through the trees: the same predictions and the same path as in Python.
const cases = (() => {
  const box = facts.sections.case, unknown = (value) => value === null || value === undefined || Number.isNaN(value);
  const known = (work) => (...values) => {
    if (values.some(unknown)) return NaN;
    const result = work(...values);
    return typeof result === "boolean" ? Number(result) : Number.isFinite(result) ? result : NaN;
  };
  const even = (x) => { const low = Math.floor(x); return x - low === 0.5 ? low + (low % 2 ? 1 : 0) : Math.round(x); };
  const rest = (a, b) => { const found = a % b; return found !== 0 && (b < 0) !== (found < 0) ? found + b : found; };
  const floored = (a, b) => { const whole = (a - rest(a, b)) / b, low = Math.floor(whole); return whole - low > 0.5 ? low + 1 : low; };
  // Kleene's logic: false < unknown < true.
  const logic = (pick) => (...values) => {
    const found = pick(...values.map((value) => unknown(value) ? 0.5 : value));
    return found === 0.5 ? NaN : found;
  };
  const work = {
    "+": known((a, b) => a + b), "-": known((a, b) => a - b), "*": known((a, b) => a * b), "/": known((a, b) => a / b),
    "//": known(floored), "%": known(rest), "**": known((a, b) => a ** b),
    negative: known((a) => -a), "==": known((a, b) => a === b), "!=": known((a, b) => a !== b), "<": known((a, b) => a < b),
    "<=": known((a, b) => a <= b), ">": known((a, b) => a > b), ">=": known((a, b) => a >= b),
    in: known((a, ...list) => list.includes(a)), not: known((a) => 1 - a), abs: known(Math.abs), ceil: known(Math.ceil),
    exp: known(Math.exp), floor: known(Math.floor), log: known(Math.log), log10: known(Math.log10), log2: known(Math.log2),
    max: known(Math.max), min: known(Math.min), round: known(even), sqrt: known(Math.sqrt),
    and: logic(Math.min), or: logic(Math.max),
  };
  const answer = ([name, ...parts], row) => {
    if (name === "constant") return parts[0];
    if (name === "column") return row[parts[0]];
    if (name === "lookup") return unknown(row[parts[0]]) ? NaN : parts[1][row[parts[0]]];
    return work[name](...parts.map((part) => answer(part, row)));
  };
  // A row by column names as numbers: a category is its index; an unknown one is missing.
  const encoded = (values) => Object.fromEntries(box.fields.map((field) => {
    const value = values[field.name];
    if (unknown(value)) return [field.index, NaN];
    if (field.kind === "numeric") return [field.index, Number(value)];
    const place = field.categories.indexOf(value);
    return [field.index, place < 0 ? NaN : place];
  }));
  const splitValue = (tree, node, row) => {
    const feature = tree.feature[node], custom = box.custom_features[feature];
    return custom ? answer(custom, row) : row[feature];
  };
  const path = (tree, row) => {
    const nodes = [0];
    for (let node = 0; tree.left[node] >= 0; nodes.push(node)) {
      const value = splitValue(tree, node, row), set = tree.sets[node];
      const yes = unknown(value) ? tree.missing_left[node] : set ? parseInt(set[value >> 2], 16) >> (value & 3) & 1 : value <= tree.threshold[node];
      node = yes ? tree.left[node] : tree.right[node];
    }
    return nodes;
  };
  const predict = (values, place = 0) => {
    const tree = box.trees[place];
    return tree.value[path(tree, encoded(values)).at(-1)];
  };
  // The right branches of the reference trees, which are in preorder, and the number of each leaf.
  const packed = box.references, right = [], number = [], open = [];
  let n_leaves = 0;
  if (packed) packed.feature.forEach((feature, node) => {
    if (open.length && packed.feature[node - 1] < 0) right[open.pop()] = node;
    if (feature >= 0) open.push(node);
    else number[node] = n_leaves++;
  });
  // How many reference trees agree with the first tree, and the interval of nine of ten of their estimates.
  const firmness = (row, leaf) => {
    const own = packed.outcome[leaf], estimates = [];
    let start = 0, agree = 0;
    for (const size of packed.n_nodes) {
      let node = start;
      while (packed.feature[node] >= 0) {
        const value = splitValue(packed, node, row), cut = packed.cut[node];
        const yes = unknown(value) ? packed.missing_left[node] === "1" : typeof cut === "string" ? parseInt(cut[value >> 2], 16) >> (value & 3) & 1 : value <= cut;
        node = yes ? node + 1 : right[node];
      }
      if (packed.cut[node] === own) agree += 1;
      if (own === undefined) estimates.push(packed.cut[node]);
      else if (packed.probability.length) estimates.push(packed.probability[number[node]]);
      start += size;
    }
    estimates.sort((a, b) => a - b);
    const n = packed.n_nodes.length, at = (share) => estimates[Math.max(Math.ceil(share * n / 100), 1) - 1];
    return { agree, n, low: at(5), high: at(95), is_firm: own === undefined || agree / n >= packed.least };
  };
  return { box, unknown, encoded, splitValue, path, predict, firmness };
})();

(() => {
  const { box, unknown, splitValue, path } = cases, form = byId("case-form"), result = byId("case-result");
  const inputs = [...form.querySelectorAll("[data-field]")];
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    if (name) element.className = name;
    element.dir = "auto";
    return element;
  };
  const percent = (share) => share > 0 && share < 0.005 ? "< 1 %" : share >= 0.995 && share < 1 ? "> 99 %" : `${Math.round(100 * share)} %`;
  const steps = (tree, nodes, row) => {
    const list = make("ol", "", "path");
    nodes.slice(0, -1).forEach((node, place) => {
      const yes = nodes[place + 1] === tree.left[node], value = splitValue(tree, node, row), support = tree.support[node];
      const step = make("li", tree.answers[node][yes ? 0 : 1]);
      const notes = [];
      if (unknown(value)) notes.push("not recorded: the branch for missing values");
      else if (support && support.low !== undefined && value >= support.low && value <= support.high && support.low < support.high)
        notes.push(`near the threshold: trees of other samples split at ${support.texts[0]} to ${support.texts[1]}`);
      if (support) notes.push(`split support ${percent(support.share)}`);
      if (notes.length) step.append(make("span", notes.join("; "), notes[0].startsWith("near") ? "hint warn" : "hint"));
      list.append(step);
    });
    return list;
  };
  const outcome = (tree, nodes) => {
    const leaf = tree.leaves[nodes.at(-1)], head = make("p", "", "outcome");
    head.append(make("strong", leaf.prediction), make("span", "class" in leaf ? `${leaf.decision ? "probability of " : ""}${box.target} = ${leaf.class}` : box.target));
    if (leaf.risk) head.append(make("span", `risk ${leaf.risk}`, "decision"));
    if (leaf.decision) head.append(make("span", `predicts ${leaf.decision}`, "decision"));
    return [head, make("p", [leaf.sentence, leaf.outside].filter(Boolean).join(" ")), ...(leaf.warning ? [make("p", leaf.warning, "warn")] : [])];
  };
  const firm = (leaf, row) => {
    const found = cases.firmness(row, leaf), trees = `${found.n} trees trained on resampled data`, shown = (value) => String(Number(value.toPrecision(4)));
    const is_share = box.classes.length > 0 || box.references.title !== "";
    const low = is_share && found.low !== undefined ? percent(found.low) : "", high = is_share && found.high !== undefined ? percent(found.high) : "";
    const range = low === high ? low : `${low.startsWith("<") || high.startsWith(">") ? low : low.replace(" %", "")} to ${high}`;
    const put = range ? `put ${box.references.title} at ${range}` : "";
    const texts = box.classes.length ? [`${found.agree} of ${trees} ${found.agree === 1 ? "agrees" : "agree"}${found.is_firm ? "" : ": the answer is not firm"}.`, put ? `Nine of ten of them ${put}.` : ""]
      : [`Nine of ten of ${trees} ${put || `predict ${shown(found.low)} to ${shown(found.high)}`}.`];
    const empty = box.fields.filter((field) => !field.first && unknown(row[field.index]));
    if (empty.length) texts.push(`${empty.length === 1 ? "One column" : `${empty.length} columns`} that only these trees use ${empty.length === 1 ? "is" : "are"} empty, which counts as not recorded.`);
    return make("p", texts.filter(Boolean).join(" "), found.is_firm ? "firm" : "firm warn");
  };
  const light = (place, nodes) => {
    const drawing = byId(`drawing-${place}`);
    if (!drawing) return;
    drawing.classList.toggle("lit", nodes.length > 0);
    drawing.querySelectorAll("[data-node],[data-edge],[data-item]").forEach((part) =>
      part.classList.toggle("on", nodes.includes(Number(part.dataset.node ?? part.dataset.edge ?? part.dataset.item))));
  };
  const show = () => {
    const row = {}, empty = inputs.every((input) => input.value === "");
    for (const input of inputs) row[input.dataset.field] = input.value === "" ? NaN : Number(input.value);
    for (const field of box.fields.filter((field) => field.kind === "numeric")) {
      const value = row[field.index], out = value < field.low || value > field.high;
      byId(`hint-${field.index}`).textContent = `${out ? "outside the range of the training rows: " : ""}${field.ends[0]} to ${field.ends[1]}`;
      byId(`hint-${field.index}`).classList.toggle("warn", out);
    }
    result.replaceChildren();
    box.trees.forEach((tree, place) => {
      const nodes = empty ? [] : path(tree, row);
      light(place, nodes);
      if (empty) return;
      const part = make("div", "", "answer");
      if (box.trees.length > 1) part.append(make("h4", tree.name));
      part.append(...outcome(tree, nodes), ...(box.references ? [firm(nodes.at(-1), row)] : []), steps(tree, nodes, row));
      result.append(part);
    });
  };
  for (const field of box.fields) if (field.categories)
    byId(`field-${field.index}`).append(...(field.texts ?? field.categories).map((text, place) => new Option(text, place)));
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show));
  byId("case-typical").hidden = box.fields.every((field) => field.typical === null);
  byId("case-typical").addEventListener("click", () => {
    for (const field of box.fields) if (field.typical !== null) byId(`field-${field.index}`).value = field.typical;
    show();
  });
  show();
})();
