"""From a modulus and the shape of two surfaces to the stiffness of their contact.

    Hertz   F = 4/3 E* sqrt(R) (d / f)^(3/2),   R = 1 / sqrt(k1 k2),   f(k1 / k2) = 1 where k1 = k2
    punch   F = 2 E* a d

k1 >= k2 are the principal relative curvatures [1/m] of the surfaces where they touch, a the radius of a flat circular
area of contact. K. L. Johnson, Contact Mechanics, 1985: f is his F2, section 4.2; the punch, section 3.8.
"""

import numpy as np

LONGEST = 1e3  # k1 / k2 at most: what touches along a line has ends, too
ROUND = 1e-6  # of 1, by which k1 / k2 may differ for f = 1: it differs in second order
ROUNDS = 40  # of each iteration, which take about five


def punch_stiffness(modulus: float, radius: float) -> float:
    """[N/m], of E* [Pa] and a [m]."""
    return 2.0 * modulus * radius


def hertz_stiffness(modulus: float, k1: float, k2: float) -> float:
    """[N/m^1.5], of E* [Pa] and the relative curvatures k1 >= k2 >= 0 [1/m], k1 > 0."""
    k2 = max(k2, k1 / LONGEST)
    stiffness, f = 4.0 / 3.0 * modulus / np.sqrt(np.sqrt(k1 * k2)), flattening(k1 / k2)
    return stiffness if f == 1.0 else stiffness / f**1.5


def flattening(ratio: float) -> float:
    """f: how much closer bodies come than those with the same curvature R all around, under the same load.

    The area of contact is an ellipse with semi-axes a >= b, x = b / a, e^2 = 1 - x^2, and

        k1 / k2 = (E / x^2 - K) / (K - E),      f = (2 / pi) sqrt(x) K / F1,
        F1^3 = 4 / (pi e^2) x^(3/2) sqrt((E / x^2 - K) (K - E)),

    K and E the complete elliptic integrals of e.
    """
    if ratio < 1.0 + ROUND:
        return 1.0
    low, high = np.log(ratio) * -1.0, 0.0  # of log x; the ratio falls from infinity to 1 as x goes from 0 to 1
    middle = -2.0 / 3.0 * np.log(ratio)
    for _ in range(ROUNDS):
        x = np.exp(middle)
        K, E, less = elliptic_integrals(x)
        miss = np.log((E / (x * x) - K) / less) - np.log(ratio)
        if miss > 0.0:
            low = middle
        else:
            high = middle
        new = middle + 2.0 / 3.0 * miss  # about -3/2 is the slope of log ratio in log x
        if not (low < new < high):
            new = 0.5 * (low + high)
        done = abs(new - middle) < 1e-15 * abs(middle)
        middle = new
        if done:
            break
    x = np.exp(middle)
    K, E, less = elliptic_integrals(x)
    F1 = np.cbrt(4.0 / (np.pi * (1.0 - x * x)) * x**1.5 * np.sqrt((E / (x * x) - K) * less))
    return float(2.0 / np.pi * np.sqrt(x) * K / F1)


def elliptic_integrals(x: float) -> tuple[float, float, float]:
    """K, E and K - E of e^2 = 1 - x^2, by the arithmetic-geometric mean."""
    a, g, power, total = 1.0, x, 0.5, 0.5 * (1.0 - x * x)  # sum of 2^(n-1) c_n^2
    for _ in range(ROUNDS):
        c = 0.5 * (a - g)
        a, g = 0.5 * (a + g), np.sqrt(a * g)
        power *= 2.0
        total += power * c * c
        if c < 1e-16 * a:
            break
    K = np.pi / (2.0 * a)
    return K, K * (1.0 - total), K * total
