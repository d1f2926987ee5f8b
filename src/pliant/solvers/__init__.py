"""The kernels of the solvers, and the derivative of a solution."""
