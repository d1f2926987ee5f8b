"""The paper's experiments and one of ours, one module each; `pliant reproduce` runs them."""

STUDIES = ("spring", "pendulum", "limit", "foundation", "incline", "stack", "chain")
