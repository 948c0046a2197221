"""The rule for a weight triple: each weight in [0, 1], and together they sum to 1."""

WEIGHT_SUM_TOLERANCE = 1e-9


def weights_problem(confidence: object, confirmation: object, access: object) -> str | None:
    """Say what is wrong with the three weights of `hybrid-v1`; None if nothing is.

    A sum that is off by more than `WEIGHT_SUM_TOLERANCE` is refused rather than rescaled: a
    rescaled triple is another policy than the one that was asked for.

    Examples
    --------
    >>> weights_problem(0.65, 0.25, 0.10)
    >>> weights_problem(0.6, 0.2, 0.1)
    'the weights (0.6, 0.2, 0.1) sum to 0.9, and must sum to 1'
    """
    total = 0.0
    named = {"confidence": confidence, "confirmation": confirmation, "access": access}
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            return f"the {name} weight is {value!r}, and must be in [0, 1]"
        total += value
    if abs(total - 1) > WEIGHT_SUM_TOLERANCE:
        triple = ", ".join(f"{value:g}" for value in named.values())
        return f"the weights ({triple}) sum to {total:.10g}, and must sum to 1"
    return None
