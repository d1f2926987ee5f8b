"""What a step costs, and what a right answer costs, beside peers in the same run; `pliant bench` runs the suites."""

SUITES = ("step", "stack", "pile", "rollout", "foundation", "start", "answer")
LONG = ("trust",)  # suites that run only when they are named
