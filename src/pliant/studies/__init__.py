"""The paper's experiments, one module each; `pliant reproduce` runs them."""

STUDIES = ("spring", "pendulum", "limit", "foundation", "incline", "stack")
