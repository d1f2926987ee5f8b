"""The numbers of P = M + h sum_b G_b' H_b G_b, put into the fronts."""

from pliant._compile import kernel
from pliant._intrinsics import add_eight
from pliant.inputs import Array, Ints
from pliant.solvers.symbolic import ROWS, Pattern, eights


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
    small matrix of their own, several rows at a time, and go to the front together. Its rows, and theirs, are filled
    up with zeros to multiples of eight.
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
            for k in range(m * eights(m)):
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
    d, w = block_ptr[b + 1] - block_ptr[b], eights(m)
    g_base = m * w + count * w
    t_base = g_base + (ROWS + 4) * w
    for k in range(d * w):
        work[t_base + k] = 0.0
    for k in range((d + 3) // 4 * 4 * w):
        work[g_base + k] = 0.0
    for q in range(d):
        for e in range(jac_ptr[block_ptr[b] + q], jac_ptr[block_ptr[b] + q + 1]):
            work[g_base + q * w + pattern.entry_local[e]] = jac_val[e]
    for a in range(d):
        for q in range(0, d, 4):
            e, left = H + a * d + q, d - q
            x = step * weight[e]
            y = step * weight[e + 1] if left > 1 else 0.0
            z = step * weight[e + 2] if left > 2 else 0.0
            u = step * weight[e + 3] if left > 3 else 0.0
            for k in range(0, w, 8):
                add_eight(work, t_base + a * w + k, work, g_base + q * w + k, w, x, y, z, u)


@kernel(inline=True)
def _add_rows(work: Array, m: int, count: int, symmetric: bool) -> None:
    """The matrix at the start of work += sum over rows a < count of G_a' T_a, T = h H G."""
    w = eights(m)
    g_base = m * w
    t_base = g_base + (ROWS + 4) * w
    for a in range(0, count, 4):
        for k in range(count * w, (a + 4) * w):
            work[g_base + k] = 0.0
            work[t_base + k] = 0.0
        for i in range(m):
            g = g_base + a * w + i
            g0, g1, g2, g3 = work[g], work[g + w], work[g + 2 * w], work[g + 3 * w]
            for j in range(0, i + 1 if symmetric else m, 8):
                add_eight(work, i * w + j, work, t_base + a * w + j, w, g0, g1, g2, g3)


@kernel(inline=True)
def _add_to_front(pattern: Pattern, c: int, work: Array, m: int, symmetric: bool, values: Array) -> None:
    """Add the matrix at the start of work to the front of clique c; places ascend: lower stays so."""
    if c >= 0:
        s = pattern.clique_front[c]
        n = pattern.row_ptr[s + 1] - pattern.row_ptr[s]
        place = pattern.clique_ptr[c]
        for i in range(m):
            base = pattern.value_ptr[s] + pattern.clique_place[place + i] * n
            for j in range(i + 1 if symmetric else m):
                values[base + pattern.clique_place[place + j]] += work[i * eights(m) + j]
