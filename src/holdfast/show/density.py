"""Tables of trees for unlabelled rows, as text."""

from holdfast.growth.density.size import DensitySizeTable


def density_size_text(table: DensitySizeTable) -> str:
    """One line for every number of clusters: what the rows held out say of it."""
    lines = [f"{'clusters':>8}  {'log likelihood':>17}  {'over one fewer':>17}"]
    for place, number in enumerate(table.n_clusters.tolist()):
        score = f"{table.score[place]:.4g} ± {table.error[place]:<7.2g}"
        gain = "" if place == 0 else f"{table.gain[place]:.3g} ± {table.gain_error[place]:<7.2g}"
        mark = "chosen" if place == table.chosen else ""
        lines.append(f"{number:8}  {score:>17}  {gain:>17}  {mark}".rstrip())
    return "\n".join([*lines, "Means over the rows held out; ± is one standard error."])
