"""The numbers of P = M + h sum_b G_b' H_b G_b, put into the fronts."""

from pliant._compile import kernel
from pliant.inputs import Array, Ints
from pliant.solvers.symbolic import ROWS, Pattern


@kernel
def assemble(
    pattern: Pattern,
    mass_val: Array,
    jac_ptr: Ints,
    jac_val: Array,
    block_ptr: Ints,
    step: float,
    weight_ptr: Ints,
    weight: Array,
    symmetric: bool,
    values: Array,
    work: Array,
) -> None:
    """Fill `values` (pattern.size,) with P.

    H_b, d x d by rows, is weight[weight_ptr[b]:weight_ptr[b+1]]; blocks with H_b = 0 cost next to nothing.
    `symmetric` fills the lower triangles only and takes H_b to be symmetric; else both are filled. `work` has
    pattern.work entries.

    Consecutive blocks on the same velocities (a foundation, the contacts of two boxes) are added up in a
    small matrix of their own, several rows at a time, and go to the front together.
    """
    for k in range(values.size):
        values[k] = 0.0
    _add_mass(pattern, mass_val, symmetric, values)
    clique, m, count = -1, 0, 0
    nb = pattern.block_clique.size
    for b in range(nb + 1):  # once more at the end, to deliver what has been added up
        c = pattern.block_clique[b] if b < nb else nb
        d = 0
        if b < nb:
            start, end = weight_ptr[b], weight_ptr[b + 1]
            while start < end and weight[start] == 0.0:
                start += 1
            if c < 0 or start == end:
                continue
            d = block_ptr[b + 1] - block_ptr[b]
        if c != clique or count + d > ROWS:
            _add_rows(work, m, count, symmetric)
            count = 0
        if c != clique:
            _add_to_front(pattern, clique, work, m, symmetric, values)
            if b == nb:
                break
            clique, m = c, pattern.clique_ptr[c + 1] - pattern.clique_ptr[c]
            for k in range(m * m):
                work[k] = 0.0
        _collect_block(pattern, jac_ptr, jac_val, block_ptr, b, step, weight, weight_ptr[b], work, m, count)
        count += d


@kernel(inline=True)
def _add_mass(pattern: Pattern, mass_val: Array, symmetric: bool, values: Array) -> None:
    for k in range(pattern.mass_entry.size):
        x = mass_val[pattern.mass_entry[k]]
        lower, upper = pattern.mass_lower[k], pattern.mass_upper[k]
        values[lower] += x
        if not symmetric and lower != upper:
            values[upper] += x


@kernel(inline=True)
def _collect_block(
    pattern: Pattern,
    jac_ptr: Ints,
    jac_val: Array,
    block_ptr: Ints,
    b: int,
    step: float,
    weight: Array,
    H: int,
    work: Array,
    m: int,
    count: int,
) -> None:
    """Append to work the rows of G_b, spread over the m velocities of the clique, and of T_b = h H_b G_b."""
    d = block_ptr[b + 1] - block_ptr[b]
    g_base = m * m + count * m
    t_base = g_base + ROWS * m
    for k in range(d * m):
        work[g_base + k] = 0.0
    for q in range(d):
        for e in range(jac_ptr[block_ptr[b] + q], jac_ptr[block_ptr[b] + q + 1]):
            work[g_base + q * m + pattern.entry_local[e]] = jac_val[e]
    for a in range(d):
        t = work[t_base + a * m : t_base + (a + 1) * m]
        for q in range(d):
            x = step * weight[H + a * d + q]
            g = work[g_base + q * m : g_base + (q + 1) * m]
            for k in range(m):
                t[k] = x * g[k] + (t[k] if q > 0 else 0.0)


@kernel(inline=True)
def _add_rows(work: Array, m: int, count: int, symmetric: bool) -> None:
    """The m x m matrix at the start of work += sum over rows a < count of G_a' T_a, T = h H G."""
    g_base = m * m
    t_base = g_base + ROWS * m
    for a in range(0, count, 4):
        for k in range(count * m, (a + 4) * m):
            work[g_base + k] = 0.0
            work[t_base + k] = 0.0
        t0 = work[t_base + a * m : t_base + (a + 1) * m]
        t1 = work[t_base + (a + 1) * m : t_base + (a + 2) * m]
        t2 = work[t_base + (a + 2) * m : t_base + (a + 3) * m]
        t3 = work[t_base + (a + 3) * m : t_base + (a + 4) * m]
        for i in range(m):
            g = g_base + a * m + i
            g0, g1, g2, g3 = work[g], work[g + m], work[g + 2 * m], work[g + 3 * m]
            y = work[i * m : i * m + (i + 1 if symmetric else m)]
            for j in range(y.size):
                y[j] = y[j] + g0 * t0[j] + g1 * t1[j] + g2 * t2[j] + g3 * t3[j]


@kernel(inline=True)
def _add_to_front(pattern: Pattern, c: int, work: Array, m: int, symmetric: bool, values: Array) -> None:
    """Add the m x m matrix at the start of work to the front of clique c; places ascend: lower stays so."""
    if c >= 0:
        s = pattern.clique_front[c]
        n = pattern.row_ptr[s + 1] - pattern.row_ptr[s]
        place = pattern.clique_ptr[c]
        for i in range(m):
            base = pattern.value_ptr[s] + pattern.clique_place[place + i] * n
            for j in range(i + 1 if symmetric else m):
                values[base + pattern.clique_place[place + j]] += work[i * m + j]
