def linearize(problem, solution):
    raise TypeError
